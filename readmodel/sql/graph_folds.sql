-- How many jobs of graph $2 of request $1 with the same kind, target and set are in which state. $3 says what is left out of
-- that: 1 the set, 2 the target too, 3 everything. At most $4 rows. The states are those of graph_jobs.
WITH node AS (
    SELECT n.number, n.optional,
           CASE WHEN $3::bigint < 3 THEN coalesce(j.kind, '') ELSE '' END AS kind, CASE WHEN $3 < 2 THEN coalesce(j.target, '') ELSE '' END AS target,
           CASE WHEN $3 < 1 THEN coalesce(j."set", 0) ELSE 0 END AS "set", coalesce(j.sample, r.sample, '') <> '' AS sampled,
           CASE
               WHEN n.state IN ('success', 'failure', 'cancelled') THEN n.state
               WHEN n.state = 'skipped' AND (g.ended_at IS NOT NULL OR j.state IS DISTINCT FROM 'in_progress') THEN n.state
               WHEN n.state = 'blocked' AND g.ended_at IS NULL AND coalesce(j.state, 'queued') = 'queued' THEN n.state
               ELSE coalesce(j.state, r.state, 'queued')
           END AS state
    FROM graph g
    JOIN graph_job n ON n.request_id = g.request_id AND n.graph = g.number
    LEFT JOIN job_queue j ON j.job_id = n.job_id
    LEFT JOIN retired_job r ON r.job_id = n.job_id
    WHERE g.request_id = $1 AND g.number = $2
), fold AS (
    SELECT kind, target, "set", state, count(*) AS jobs, bool_and(optional) AS optional, bool_or(sampled) AS sampled, min(number) AS first
    FROM node
    GROUP BY kind, target, "set", state
)
SELECT kind, target, "set", state, jobs, optional, sampled FROM fold ORDER BY min(first) OVER (PARTITION BY kind, target, "set"), first LIMIT $4
