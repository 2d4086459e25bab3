-- The requests of other queues than the main one that have not ended.
SELECT request_id
FROM benchmark_request
WHERE state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress') AND queue <> ''
ORDER BY queue, state <> 'in_progress', array_position(ARRAY['vip', 'high', '', 'low', 'idle'], priority), created_seq
LIMIT $1
