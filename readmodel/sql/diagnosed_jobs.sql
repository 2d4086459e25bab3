-- The jobs of request $1 that had something to say, by graph and number, with how many of their texts a job of the graph before
-- them had said. Jobs of no graph come first, as graph -1.
WITH placed AS (
    SELECT graph, number, job_id FROM graph_job WHERE request_id = $1
    UNION ALL
    SELECT -1, row_number() OVER (ORDER BY created_seq, ordinal) - 1, job_id
    FROM job_queue j
    WHERE request_id = $1 AND (diagnosed IS NOT NULL OR reused_from <> '')
      AND NOT EXISTS (SELECT FROM graph_job n WHERE n.request_id = j.request_id AND n.job_id = j.job_id)
), told AS (
    SELECT p.graph, p.number, j.job_id, j.kind, j.target, j."set", j.backend, j.profile, o.diagnosed, j.reused_from AS said_by,
           (o.diagnosed->>'token')::bigint AS token
    FROM placed p
    JOIN job_queue j USING (job_id)
    JOIN job_queue o ON o.job_id = coalesce(nullif(j.reused_from, ''), j.job_id)
    WHERE o.diagnosed IS NOT NULL
), texts AS (
    SELECT t.graph, t.number, row_number() OVER (PARTITION BY t.graph, d.hash ORDER BY t.number, d.place) > 1 AS again
    FROM told t JOIN diagnostic d USING (token)
)
SELECT t.graph, t.number, t.job_id, t.kind, t.target, t."set", t.backend, t.profile, t.diagnosed, t.said_by,
       (SELECT count(*) FROM texts x WHERE x.graph = t.graph AND x.number = t.number AND x.again) AS duplicates
FROM told t
ORDER BY t.graph, t.number
