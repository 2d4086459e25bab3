-- Which kinds, targets and sets of graph $2 of request $1 need which others. $3 is that of graph_folds. At most $4 rows.
WITH node AS MATERIALIZED (
    SELECT n.number, n.needs,
           CASE WHEN $3::bigint < 3 THEN coalesce(j.kind, '') ELSE '' END AS kind, CASE WHEN $3 < 2 THEN coalesce(j.target, '') ELSE '' END AS target,
           CASE WHEN $3 < 1 THEN coalesce(j."set", 0) ELSE 0 END AS "set"
    FROM graph_job n LEFT JOIN job_queue j ON j.job_id = n.job_id
    WHERE n.request_id = $1 AND n.graph = $2
), place AS MATERIALIZED (
    SELECT number, needs, kind, target, "set", dense_rank() OVER (ORDER BY kind, target, "set") AS fold FROM node
), fold AS (
    SELECT DISTINCT fold, kind, target, "set" FROM place
), line AS (
    SELECT f.fold AS job, o.fold AS other, bool_and(need.until IS NOT DISTINCT FROM 'ended') AS ended
    FROM place f CROSS JOIN LATERAL json_to_recordset(f.needs) AS need ("on" bigint, until text) JOIN place o ON o.number = need."on"
    WHERE f.fold <> o.fold
    GROUP BY f.fold, o.fold
    LIMIT $4
)
SELECT a.kind, a.target, a."set", b.kind AS on_kind, b.target AS on_target, b."set" AS on_set, line.ended
FROM line JOIN fold a ON a.fold = line.job JOIN fold b ON b.fold = line.other
