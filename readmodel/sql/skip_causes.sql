-- Which of the jobs $2 the graphs of request $1 skip, and because of which job. Its label is empty once it has left the
-- tables.
SELECT DISTINCT ON (n.job_id) n.job_id, coalesce(c.job_id, '') AS cause, coalesce(j.kind, '') AS kind, coalesce(j.target, '') AS target, coalesce(j."set", 0) AS "set",
       coalesce(j.backend, '') AS backend, coalesce(j.profile, '') AS profile
FROM graph_job n
LEFT JOIN graph_job c ON c.request_id = n.request_id AND c.graph = n.graph AND c.number = n.skipped_by
LEFT JOIN job_queue j ON j.job_id = c.job_id
WHERE n.request_id = $1 AND n.job_id = ANY ($2::text[]) AND n.state = 'skipped'
ORDER BY n.job_id, n.graph DESC
