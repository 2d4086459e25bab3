-- The requests of another queue than the main one that have not ended: those in progress, then the more urgent ones, then the
-- older ones.
SELECT request_id
FROM benchmark_request
WHERE state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress') AND queue = $1 AND queue <> ''
ORDER BY queue, state <> 'in_progress', array_position(ARRAY['vip', 'high', '', 'low', 'idle'], priority), created_seq
LIMIT $2
