-- The graphs that have a job, those of the newest request first, without those in which no job needs another.
SELECT {graph g}
FROM graph g
WHERE g.needs > 0 AND EXISTS (SELECT FROM graph_job n WHERE n.request_id = g.request_id AND n.graph = g.number AND n.job_id = $1)
  AND g.request_id IN (SELECT n.request_id FROM graph_job n WHERE n.job_id = $1)
ORDER BY max(g.created_seq) OVER (PARTITION BY g.request_id) DESC, g.request_id, g.number
LIMIT $2
