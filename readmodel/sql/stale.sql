SELECT EXISTS (SELECT FROM graph_job WHERE job_id = $1 AND stale) AS stale
