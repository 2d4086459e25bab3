-- A chain of parents may hold requests that were never measured: they cost a step but give no value. The
-- path ends at a cycle, because UNION drops a tag that was seen at the same depth and the depth is bounded.
WITH RECURSIVE ancestor (tag, depth) AS (
    SELECT parent_tag, 1 FROM benchmark_request WHERE suite = @suite AND tag = @before AND parent_tag <> ''
    UNION
    SELECT r.parent_tag, a.depth + 1
    FROM ancestor a JOIN benchmark_request r ON r.suite = @suite AND r.tag = a.tag AND r.kind = 'master'
    WHERE r.parent_tag <> '' AND a.depth < 3 * @n::bigint
), nearest AS (
    -- Each measured master once, at its smallest depth; the tag itself is no part of its history.
    SELECT a.tag, min(a.depth) AS depth
    FROM ancestor a
    WHERE a.tag <> @before
      AND EXISTS (SELECT FROM benchmark_request r WHERE r.suite = @suite AND r.tag = a.tag AND r.kind = 'master')
      AND EXISTS (SELECT FROM result WHERE suite = @suite AND tag = a.tag AND sample = '' AND reused_from = '')
    GROUP BY a.tag
    ORDER BY depth
    LIMIT @n::bigint
), minimum AS (
    SELECT r.benchmark, r.profile, r.scenario, r.backend, r.target, m.metric, r.environment, n.depth, n.tag,
           (SELECT min(v.value::double precision) FROM json_array_elements_text(m.values) AS v (value)) AS value
    FROM nearest n
    JOIN result r ON r.suite = @suite AND r.tag = n.tag AND r.sample = '' AND r.reused_from = ''
     -- Definitions that its branch never used may measure something else under the same names.
     AND NOT EXISTS (SELECT FROM benchmark_request c WHERE c.request_id = r.request_id AND c.customised)
    CROSS JOIN LATERAL json_each(r.statistics) AS m (metric, values)
    WHERE @metric = '' OR m.metric = @metric
)
SELECT benchmark, profile, scenario, backend, target, metric, environment,
       array_agg(tag ORDER BY depth, tag) AS tags, array_agg(value ORDER BY depth, tag) AS minima
FROM minimum
WHERE value IS NOT NULL
GROUP BY benchmark, profile, scenario, backend, target, metric, environment
ORDER BY benchmark, profile, scenario, backend, target, metric, environment
