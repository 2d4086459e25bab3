-- What holds a job in the first open graph in which it is in the state $2, one of its own request before others: the jobs
-- that it still needs, or the one that it is skipped for.
WITH place AS (
    SELECT n.request_id, n.graph, n.state, n.skipped_by, n.needs
    FROM graph_job n
    JOIN graph g ON g.request_id = n.request_id AND g.number = n.graph
    WHERE n.job_id = $1 AND n.state = $2 AND g.ended_at IS NULL
    ORDER BY n.request_id <> $3, g.created_seq, n.graph, n.number
    LIMIT 1
), needed AS (
    SELECT p.request_id, p.graph, (need ->> 'on')::bigint AS number
    FROM place p, json_array_elements(p.needs) AS need
    WHERE p.state = 'blocked' AND NOT coalesce((need ->> 'met')::boolean, false)
    UNION
    SELECT p.request_id, p.graph, p.skipped_by FROM place p WHERE p.state = 'skipped'
)
SELECT n.request_id, n.job_id, coalesce(j.request_id, '') AS maker, r.state AS request_state, coalesce(j.kind, '') AS kind, coalesce(j.target, '') AS target, coalesce(j."set", 0) AS "set",
       coalesce(j.backend, '') AS backend, coalesce(j.profile, '') AS profile,
       CASE
           WHEN n.state IN ('success', 'failure', 'cancelled') THEN n.state
           WHEN n.state <> 'ready' AND coalesce(j.state, 'queued') = 'queued' THEN n.state
           ELSE coalesce(j.state, 'queued')
       END AS state
FROM needed
JOIN graph_job n USING (request_id, graph, number)
JOIN benchmark_request r ON r.request_id = n.request_id
LEFT JOIN job_queue j ON j.job_id = n.job_id
ORDER BY number
