-- The requests whose graphs have a job, the newest first.
SELECT n.request_id
FROM graph_job n
JOIN graph g ON g.request_id = n.request_id AND g.number = n.graph
WHERE n.job_id = $1
GROUP BY n.request_id
ORDER BY max(g.created_seq) DESC
LIMIT $2
