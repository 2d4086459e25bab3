SELECT {graph_job n}
FROM graph g JOIN graph_job n ON n.request_id = g.request_id AND n.graph = g.number
WHERE g.ended_at IS NULL
