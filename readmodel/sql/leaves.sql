-- What each account has and had in each queue and tier, for those that have work or were charged since the day $1.
WITH tiered AS NOT MATERIALIZED (
    SELECT CASE WHEN priority IN ('vip', 'idle') THEN priority ELSE 'default' END AS tier, queue, account, request_id, state, created_at
    FROM benchmark_request
), asked AS (
    SELECT tier, queue, account, count(*) AS requests, min(created_at) FILTER (WHERE state = 'artifacts_ready') AS oldest
    FROM tiered WHERE state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress') GROUP BY tier, queue, account
), waits AS (
    SELECT t.tier, r.queue, r.account, count(*) FILTER (WHERE j.place = 0) AS waiting,
           count(*) FILTER (WHERE j.place > 0) AS running, min(j.created_at) FILTER (WHERE j.place = 0) AS oldest
    FROM job_queue j JOIN tiered r USING (request_id)
    -- A sample waits at a priority of its own.
    CROSS JOIN LATERAL (SELECT CASE WHEN j.sample = '' THEN r.tier WHEN j.priority IN ('vip', 'idle') THEN j.priority ELSE 'default' END AS tier) AS t
    -- The others on a lane are counted in share.
    WHERE j.state IN ('queued', 'in_progress') AND j.share IS NULL AND j.held = '' GROUP BY t.tier, r.queue, r.account
), had AS (
    SELECT tier, queue, account, sum(charged_ms)::bigint AS charged_ms FROM usage WHERE day >= $1 GROUP BY tier, queue, account
)
SELECT tier, queue, account, coalesce(a.requests, 0) AS requests, coalesce(w.waiting, 0) AS waiting, coalesce(s.running, 0) + coalesce(w.running, 0) AS running,
       coalesce(h.charged_ms, 0) AS charged_ms, coalesce(s.charged_ms, 0) AS total_ms, least(a.oldest, w.oldest) AS oldest,
       coalesce(c.weight, 0) AS weight, coalesce(c.may, '{}') AS may, coalesce(c.branches, '{}') AS branches
FROM asked a FULL JOIN waits w USING (tier, queue, account) FULL JOIN had h USING (tier, queue, account)
FULL JOIN share s USING (tier, queue, account) LEFT JOIN account c ON c.name = account
WHERE coalesce(a.requests, 0) + coalesce(w.waiting, 0) + coalesce(w.running, 0) + coalesce(s.running, 0) > 0 OR h.charged_ms > 0
ORDER BY tier, queue, account
