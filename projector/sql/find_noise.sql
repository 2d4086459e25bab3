-- What graph $2 of request $1 found, which ended at $3 by the event $4. Its samples are $5. The formula is that of
-- readmodel.NoiseRow; where the minima have none, or are too far apart for a number, there is no row. Names that no index
-- can hold are left out.
INSERT INTO noise ({noise})
SELECT suite, environment, benchmark, profile, scenario, backend, target, metric, tag, $1::text, $2::bigint,
       count(*), min(value), max(value), (max(value) - min(value)) / min(value), $3::timestamptz
FROM (
    SELECT r.suite, r.environment, r.benchmark, r.profile, r.scenario, r.backend, r.target, m.metric, r.tag, r.sample,
           (SELECT min(v.value::double precision) FROM json_array_elements_text(m.values) AS v (value)) AS value
    FROM result r CROSS JOIN LATERAL json_each(r.statistics) AS m (metric, values)
    WHERE r.sample = ANY ($5::text[]) AND r.seq < $4 AND octet_length(m.metric) + octet_length(r.environment) <= 500
      -- Definitions that its branch never used may measure something else under the same names.
      AND NOT EXISTS (SELECT FROM benchmark_request WHERE request_id = $1 AND customised)
) AS minimum
WHERE value IS NOT NULL
GROUP BY suite, environment, benchmark, profile, scenario, backend, target, metric, tag
HAVING count(*) > 1 AND min(value) > 0 AND CASE WHEN min(value) > 0 THEN ln(max(value)) - ln(min(value)) < 20 END
ON CONFLICT DO NOTHING
