-- The neighbours of job $1 in graph $3 of request $2, at most $4 on each side with how many there are: those that it needs, and
-- those that need it. Its own row comes first, that of the job for which it is skipped last. The states are those of graph_jobs.
WITH me AS (
    SELECT number, needs, skipped_by FROM graph_job WHERE request_id = $2 AND graph = $3 AND job_id = $1 ORDER BY number LIMIT 1
), needed AS (
    SELECT 1 AS side, need."on" AS number, coalesce(need.until, '') AS until, coalesce(need.met, false) AS met, coalesce(need.output, '') AS output
    FROM me CROSS JOIN LATERAL json_to_recordset(me.needs) AS need ("on" bigint, until text, met boolean, output text)
), likely AS MATERIALIZED ( -- most texts need not be parsed
    SELECT n.number, n.needs FROM me JOIN graph_job n ON n.request_id = $2 AND n.graph = $3 AND n.needs::text LIKE '%' || me.number || '%'
), needing AS (
    SELECT 2 AS side, n.number, coalesce(need.until, '') AS until, coalesce(need.met, false) AS met, coalesce(need.output, '') AS output
    FROM me CROSS JOIN likely n CROSS JOIN LATERAL json_to_recordset(n.needs) AS need ("on" bigint, until text, met boolean, output text)
    WHERE need."on" = me.number
), near AS (
    SELECT 0 AS side, number, '' AS until, false AS met, '' AS output, 1 AS side_jobs FROM me
    UNION ALL
    SELECT 3, skipped_by, '', false, '', 1 FROM me WHERE skipped_by IS NOT NULL
    UNION ALL
    (SELECT *, count(*) OVER () FROM needed ORDER BY number LIMIT $4)
    UNION ALL
    (SELECT *, count(*) OVER () FROM needing ORDER BY number LIMIT $4)
)
SELECT near.side, near.side_jobs, near.until, near.met, near.output, n.number, n.job_id,
       CASE
           WHEN n.state IN ('success', 'failure', 'cancelled') THEN n.state
           WHEN n.state = 'skipped' AND (g.ended_at IS NOT NULL OR j.state IS DISTINCT FROM 'in_progress') THEN n.state
           WHEN n.state = 'blocked' AND g.ended_at IS NULL AND coalesce(j.state, 'queued') = 'queued' THEN n.state
           ELSE coalesce(j.state, r.state, 'queued')
       END AS state,
       coalesce(j.kind, '') AS kind, coalesce(j.target, '') AS target, coalesce(j."set", 0) AS "set", coalesce(j.backend, '') AS backend,
       coalesce(j.profile, '') AS profile, coalesce(j.sample, r.sample, '') AS sample
FROM near
JOIN graph g ON g.request_id = $2 AND g.number = $3
JOIN graph_job n ON n.request_id = $2 AND n.graph = $3 AND n.number = near.number
LEFT JOIN job_queue j ON j.job_id = n.job_id
LEFT JOIN retired_job r ON r.job_id = n.job_id
ORDER BY near.side, n.number
