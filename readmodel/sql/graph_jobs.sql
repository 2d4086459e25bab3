-- The jobs of the graphs of a request, or of those of the numbers $2. Blocked and skipped replace queued; all other states are those of the job itself.
-- What a graph that has ended left undone shows what became of its job. What is skipped stays so when it is withdrawn.
SELECT n.graph, n.number, n.job_id, n.optional,
       CASE
           WHEN n.state IN ('success', 'failure', 'cancelled') THEN n.state
           WHEN n.state = 'skipped' AND (g.ended_at IS NOT NULL OR j.state IS DISTINCT FROM 'in_progress') THEN n.state
           WHEN n.state = 'blocked' AND g.ended_at IS NULL AND coalesce(j.state, 'queued') = 'queued' THEN n.state
           ELSE coalesce(j.state, r.state, 'queued')
       END AS state,
       n.skipped_by, n.needs, n.forced, n.stale,
       coalesce(j.tag, '') AS tag, coalesce(j.kind, '') AS kind, coalesce(j.target, '') AS target, coalesce(j."set", 0) AS "set",
       coalesce(j.backend, '') AS backend, coalesce(j.profile, '') AS profile, coalesce(j.round, 0) AS round, coalesce(j.sample, r.sample, '') AS sample,
       coalesce(j.reason, '') AS reason, coalesce(j.collector, '') AS collector, j.dequeued_at, j.finished_at,
       coalesce(j.duration_ms, 0) AS duration_ms,
       j.benchmarks, j.requires, coalesce(j.iterations, 0) AS iterations, j.measures, j.caches, coalesce(j.matched, false) AS matched,
       coalesce(j.artifact_kind, '') AS artifact_kind
FROM graph g
JOIN graph_job n ON n.request_id = g.request_id AND n.graph = g.number
LEFT JOIN job_queue j ON j.job_id = n.job_id
LEFT JOIN retired_job r ON r.job_id = n.job_id
WHERE g.request_id = $1 AND ($2::bigint[] IS NULL OR g.number = ANY ($2))
ORDER BY n.graph, n.number
