-- The requests of a queue that have not ended, in their order: by their places in the main queue. In other queues those in
-- progress come first, then the more urgent ones, then the older ones.
SELECT r.request_id
FROM benchmark_request r LEFT JOIN queue q USING (request_id)
WHERE r.state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress') AND r.queue = $1
ORDER BY q.position, r.state <> 'in_progress', array_position(ARRAY['vip', 'high', '', 'low', 'idle'], r.priority), r.created_seq
LIMIT $2
