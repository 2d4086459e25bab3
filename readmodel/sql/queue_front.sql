-- How many places the queue has, and when the first request that waits was to start. Those without an estimate are at the end, or
-- all of them: so few places are looked at.
SELECT coalesce((SELECT max(position) FROM queue), 0) AS total, (
    SELECT q.estimated_start
    FROM queue q JOIN benchmark_request r USING (request_id)
    WHERE q.position <= 1000 AND r.state <> 'in_progress' AND q.estimated_start IS NOT NULL
    ORDER BY q.position
    LIMIT 1
) AS starts
