-- How many jobs of request $1 with the same kind, target and set are in which state, but for samples. $2 and $3 are $3 and $4
-- of graph_folds.
WITH node AS (
    SELECT CASE WHEN $2::bigint < 3 THEN j.kind ELSE '' END AS kind, CASE WHEN $2 < 2 THEN j.target ELSE '' END AS target,
           CASE WHEN $2 < 1 THEN j."set" ELSE 0 END AS "set", j.optional, j.created_seq, j.ordinal,
           CASE
               WHEN j.held <> '' THEN j.held
               WHEN j.state = 'cancelled' AND EXISTS (SELECT FROM graph_job n WHERE n.job_id = j.job_id AND n.request_id = $1 AND n.state = 'skipped') THEN 'skipped'
               ELSE j.state
           END AS state
    FROM job_queue j
    WHERE j.request_id = $1 AND j.sample = ''
), fold AS (
    SELECT kind, target, "set", state, count(*) AS jobs, bool_and(optional) AS optional, min(ARRAY[created_seq, ordinal]) AS first
    FROM node
    GROUP BY kind, target, "set", state
)
SELECT kind, target, "set", state, jobs, optional, false AS sampled FROM fold ORDER BY min(first) OVER (PARTITION BY kind, target, "set"), first LIMIT $3
