-- In which parts of their labels the jobs of each kind in graph $2 of request $1 differ.
SELECT j.kind, min(j.target) <> max(j.target) AS target, min(j."set") <> max(j."set") AS "set", min(j.backend) <> max(j.backend) AS backend,
       min(j.profile) <> max(j.profile) AS profile
FROM graph_job n JOIN job_queue j ON j.job_id = n.job_id
WHERE n.request_id = $1 AND n.graph = $2 AND j.kind = ANY ($3::text[])
GROUP BY j.kind
