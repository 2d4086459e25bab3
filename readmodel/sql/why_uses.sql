-- Whether job $1 uses what others built.
SELECT EXISTS (SELECT FROM graph_job n, json_array_elements(n.needs) AS need WHERE n.job_id = $1 AND need ->> 'output' <> '') AS uses
