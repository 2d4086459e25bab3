-- Who has jobs that wait for dispatch on a lane, and how many of the own leaf of a job come before it. A leaf is an account
-- in a queue and a tier. In it the more urgent requests come first, then the order of the queue.
WITH waits AS (
    SELECT CASE WHEN r.priority IN ('vip', 'idle') THEN r.priority ELSE 'default' END AS tier, r.queue, r.account,
           array_position(ARRAY['vip', 'high', '', 'low', 'idle'], r.priority) AS level,
           CASE o.policy WHEN 'fifo' THEN r.created_at ELSE coalesce(r.started_at, r.created_at) END AS began,
           CASE o.policy WHEN 'fifo' THEN 0 ELSE coalesce(r.pr, 0) END AS pr,
           r.request_id COLLATE "C" AS request_id, j.created_seq, j.ordinal, j.job_id
    FROM job_queue j
    JOIN benchmark_request r USING (request_id)
    LEFT JOIN named_queue q ON q.name = CASE r.queue WHEN '' THEN 'main' ELSE r.queue END
    CROSS JOIN LATERAL (SELECT coalesce(q.queue_order, CASE r.queue WHEN '' THEN 'levels' ELSE 'fifo' END) AS policy) AS o
    WHERE j.state = 'queued' AND j.place = 0 AND j.target = @target AND j."set" = @set
)
SELECT w.tier, w.queue, w.account, count(*) AS waiting,
       count(*) FILTER (
           WHERE (w.tier, w.queue, w.account) = (m.tier, m.queue, m.account)
             AND (w.level, w.began, w.pr, w.request_id, w.created_seq, w.ordinal) < (m.level, m.began, m.pr, m.request_id, m.created_seq, m.ordinal)
       ) AS before,
       coalesce(a.weight, 0) AS weight, coalesce(a.max_running, 0) AS max_running
FROM waits w
LEFT JOIN waits m ON m.job_id = @job
LEFT JOIN account a ON a.name = w.account
GROUP BY w.tier, w.queue, w.account, a.weight, a.max_running
ORDER BY w.tier, w.queue, w.account
