-- The matched jobs that wait for a machine: of each leaf, and of those in it that wait for the same, the first one. Jobs wait
-- for the same if they require the same, some machine had the same of their caches, and the same machines lost an attempt
-- of them. A leaf is an account in a queue and a tier; its order is that of why_leaves. A
-- sample waits at a priority of its own, behind the other jobs of its request.
WITH waits AS (
    SELECT request_id, sample <> '' AS sampled, priority, artifact_kind, requires, near, avoids, min(since) AS since, (array_agg(job_id ORDER BY turn))[1] AS job_id,
           min(turn) AS turn
    FROM (
        SELECT j.*, coalesce(moved_at, created_at) AS since,
               ARRAY[(NOT backfill OR graph IS NULL OR sample <> '')::int, coalesce(graph, 2147483647), coalesce(rank, 0), created_seq, ordinal] AS turn,
               CASE WHEN lost = 0 THEN '{}' ELSE ARRAY(
                   SELECT DISTINCT c.machine FROM attempt a JOIN collector_config c ON c.name = a.collector
                   WHERE a.job_id = j.job_id AND a.state = 'lost' AND c.machine <> '' ORDER BY 1
               ) END AS avoids
        FROM job_queue j
        WHERE state = 'queued' AND place = 0 AND held = '' AND matched
    ) AS j
    GROUP BY request_id, sampled, priority, artifact_kind, requires, near, avoids
), asked AS (
    SELECT CASE WHEN o.priority IN ('vip', 'idle') THEN o.priority ELSE 'default' END AS tier, r.queue, r.account,
           w.artifact_kind, w.requires, w.near, w.avoids, w.job_id, w.since,
           min(w.since) OVER (PARTITION BY w.artifact_kind, w.requires, w.near, w.avoids) AS class_since,
           row_number() OVER (ORDER BY array_position(ARRAY['vip', 'high', '', 'low', 'idle'], o.priority),
               CASE o.policy WHEN 'fifo' THEN r.created_at ELSE coalesce(r.started_at, r.created_at) END,
               CASE o.policy WHEN 'fifo' THEN 0 ELSE coalesce(r.pr, 0) END,
               r.request_id COLLATE "C", w.sampled, w.turn) AS rank
    FROM waits w
    JOIN benchmark_request r USING (request_id)
    LEFT JOIN named_queue q ON q.name = CASE r.queue WHEN '' THEN 'main' ELSE r.queue END
    CROSS JOIN LATERAL (SELECT coalesce(q.queue_order, CASE r.queue WHEN '' THEN 'levels' ELSE 'fifo' END) AS policy, CASE WHEN w.sampled THEN w.priority ELSE r.priority END AS priority) AS o
)
SELECT DISTINCT ON (a.tier, a.queue, a.account, a.artifact_kind, a.requires, a.near, a.avoids) a.*, coalesce(c.max_running, 0) AS max_running
FROM asked a LEFT JOIN account c ON c.name = a.account
ORDER BY a.tier, a.queue, a.account, a.artifact_kind, a.requires, a.near, a.avoids, a.rank
