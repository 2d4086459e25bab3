-- What job $1 had to say, in its order, with the job of its graph before it that said the same first. A job of no graph stands
-- in the row of those of its request that are in none either. What a reused job had to say, another one said.
WITH me AS (
    SELECT j.job_id, j.request_id, j.created_seq, j.ordinal, n.graph, n.number
    FROM job_queue j
    LEFT JOIN LATERAL (
        SELECT graph, number FROM graph_job n WHERE n.request_id = j.request_id AND n.job_id = j.job_id ORDER BY graph LIMIT 1
    ) n ON true
    WHERE j.job_id = $1
), before AS (
    SELECT n.job_id, n.number FROM me JOIN graph_job n USING (request_id, graph) WHERE n.number < me.number
    UNION ALL
    SELECT j.job_id, row_number() OVER (ORDER BY j.created_seq, j.ordinal)
    FROM me JOIN job_queue j USING (request_id)
    WHERE me.graph IS NULL AND (j.created_seq, j.ordinal) < (me.created_seq, me.ordinal)
      AND NOT EXISTS (SELECT FROM graph_job n WHERE n.request_id = j.request_id AND n.job_id = j.job_id)
), told AS (
    SELECT j.job_id, b.number, (o.diagnosed->>'token')::bigint AS token
    FROM (SELECT job_id, number FROM before UNION ALL SELECT job_id, NULL FROM me) b
    JOIN job_queue j USING (job_id)
    JOIN job_queue o ON o.job_id = coalesce(nullif(j.reused_from, ''), j.job_id)
    WHERE o.diagnosed IS NOT NULL
), mine AS (
    SELECT d.* FROM told t JOIN diagnostic d USING (token) WHERE t.number IS NULL
), first AS (
    SELECT DISTINCT ON (d.hash) d.hash, t.job_id
    FROM told t JOIN diagnostic d USING (token)
    WHERE t.number IS NOT NULL AND d.hash IN (SELECT hash FROM mine)
    ORDER BY d.hash, t.number
)
SELECT m.level, m.code, m.text, m.hash, m.count, coalesce(f.job_id, '') AS said_by
FROM mine m LEFT JOIN first f USING (hash)
ORDER BY m.place
