-- What the start of a request that is not in progress depends on: counts, and settings of its account and queue.
WITH tiered AS NOT MATERIALIZED (
    SELECT CASE WHEN priority IN ('vip', 'idle') THEN priority ELSE 'default' END AS tier,
           array_position(ARRAY['vip', 'high', '', 'low', 'idle'], priority) AS level,
           request_id, suite, tag, parent_tag, queue, account, priority, state, created_at
    FROM benchmark_request
), waits AS (
    SELECT r.queue, r.account FROM job_queue j JOIN benchmark_request r USING (request_id) WHERE j.state = 'queued' AND j.place = 0 AND j.held = ''
)
SELECT (SELECT count(*) FROM tiered o WHERE o.state = 'in_progress' AND o.queue = r.queue AND o.tier = r.tier) AS in_progress,
       (SELECT count(*) FROM tiered o WHERE o.state = 'in_progress' AND o.priority = 'vip' AND o.account = r.account) AS vips,
       CASE WHEN a.max_queued > 0 THEN (SELECT count(*) FROM waits w WHERE w.account = r.account) ELSE 0 END AS queued_of,
       CASE WHEN q.max_queued > 0 THEN (SELECT count(*) FROM waits w WHERE w.queue = r.queue) ELSE 0 END AS queued_in,
       (SELECT count(*) FROM tiered o
        WHERE o.state = 'artifacts_ready' AND o.queue = r.queue AND o.tier = r.tier
          AND (o.level, o.created_at, o.request_id COLLATE "C") < (r.level, r.created_at, r.request_id COLLATE "C")) AS before,
       (SELECT count(*) FROM tiered o
        WHERE o.state = 'artifacts_ready' AND o.queue = r.queue AND o.suite = r.suite AND o.tag = r.parent_tag AND o.tag <> '') AS parents,
       coalesce(q.paused, false) AS paused, coalesce(q.in_progress, 0) AS max_in_progress, coalesce(q.max_queued, 0) AS max_queued_in,
       coalesce(a.max_queued, 0) AS max_queued_of, a.max_vip
FROM tiered r
LEFT JOIN named_queue q ON q.name = CASE r.queue WHEN '' THEN 'main' ELSE r.queue END
LEFT JOIN account a ON a.name = r.account
WHERE r.request_id = $1
