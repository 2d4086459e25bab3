-- Who has jobs that wait for dispatch on a lane, or matched jobs of some classes, and how many of the own leaf of a job come
-- before it. A leaf is an account in a queue and a tier. In it the more urgent requests come first, then the order of the
-- queue, and the jobs of one request as Job.turn says. Jobs that only a collector which knows builds can get do not count on a
-- lane whose collector does not: the lane goes on without them. A sample waits at a priority of its own, behind the other jobs of its request.
WITH unable AS MATERIALIZED (
    SELECT FROM assignment a JOIN collector_config c USING (name)
    WHERE NOT @matched AND a.target = @target AND a."set" = @set AND a.serving AND NOT c.builds
), waits AS (
    SELECT request_id, sample <> '' AS sampled, priority, count(*) AS jobs,
           count(*) FILTER (WHERE request_id = @request AND (sample <> '') = @sampled AND priority = @priority
               AND ARRAY[(NOT backfill OR graph IS NULL OR sample <> '')::int, coalesce(graph, 2147483647), coalesce(rank, 0), created_seq, ordinal] < @turn::bigint[]) AS before
    FROM job_queue
    WHERE state = 'queued' AND place = 0 AND held = '' AND matched = @matched
      AND CASE WHEN @matched THEN artifact_kind || ' ' || array_to_string(requires, ' ') = ANY (@classes)
               ELSE target = @target AND "set" = @set END
      AND (NOT EXISTS (SELECT FROM unable) OR built IS NULL AND chunks = 0 AND NOT EXISTS (
               SELECT FROM graph_job n, json_array_elements(n.needs) AS need WHERE n.job_id = job_queue.job_id AND need ->> 'output' <> ''))
    GROUP BY request_id, sampled, priority
), asked AS MATERIALIZED ( -- with what its order in the leaf is
    SELECT CASE WHEN o.priority IN ('vip', 'idle') THEN o.priority ELSE 'default' END AS tier, r.queue, r.account,
           array_position(ARRAY['vip', 'high', '', 'low', 'idle'], o.priority) AS level,
           CASE o.policy WHEN 'fifo' THEN r.created_at ELSE coalesce(r.started_at, r.created_at) END AS began,
           CASE o.policy WHEN 'fifo' THEN 0 ELSE coalesce(r.pr, 0) END AS pr,
           r.request_id COLLATE "C" AS request_id, w.sampled, w.priority, w.jobs, w.before
    FROM waits w
    JOIN benchmark_request r USING (request_id)
    LEFT JOIN named_queue q ON q.name = CASE r.queue WHEN '' THEN 'main' ELSE r.queue END
    CROSS JOIN LATERAL (SELECT coalesce(q.queue_order, CASE r.queue WHEN '' THEN 'levels' ELSE 'fifo' END) AS policy, CASE WHEN w.sampled THEN w.priority ELSE r.priority END AS priority) AS o
), mine AS MATERIALIZED (
    SELECT * FROM asked WHERE request_id = @request AND sampled = @sampled AND priority = @priority
), leaf AS (
    SELECT a.tier, a.queue, a.account, sum(a.jobs)::bigint AS waiting,
           coalesce(sum(a.before) + sum(a.jobs) FILTER (
               WHERE (a.tier, a.queue, a.account) = (m.tier, m.queue, m.account)
                 AND (a.level, a.began, a.pr, a.request_id, a.sampled) < (m.level, m.began, m.pr, m.request_id, m.sampled)
           ), sum(a.before))::bigint AS before
    FROM asked a LEFT JOIN mine m ON true
    GROUP BY a.tier, a.queue, a.account
)
SELECT l.*, coalesce(c.weight, 0) AS weight, coalesce(c.max_running, 0) AS max_running
FROM leaf l LEFT JOIN account c ON c.name = l.account
ORDER BY l.tier, l.queue, l.account
