-- The labels of the jobs that were added to a request, without those that have left the tables.
SELECT DISTINCT j.kind, j.target, j."set", j.backend, j.profile
FROM graph g
JOIN graph_job n ON n.request_id = g.request_id AND n.graph = g.number
JOIN job_queue j ON j.job_id = n.job_id
WHERE g.request_id = $1 AND g.kind = 'added'
