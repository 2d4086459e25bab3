-- What the samples $1 measured: the minimum of each, and that of the base series on the same machine.
WITH minimum AS (
    SELECT r.suite, r.tag, r.benchmark, r.profile, r.scenario, r.backend, r.target, r.env, r.environment, r.collector, r.sample, m.metric,
           (SELECT min(v.value::double precision) FROM json_array_elements_text(m.values) AS v (value)) AS value
    FROM result r CROSS JOIN LATERAL json_each(r.statistics) AS m (metric, values)
    WHERE r.sample = ANY ($1::text[])
), series AS (
    SELECT suite, tag, benchmark, profile, scenario, backend, target, env, environment, metric, min(collector) AS collector,
           array_agg(sample ORDER BY sample) AS names, array_agg(value ORDER BY sample) AS minima
    FROM minimum
    WHERE value IS NOT NULL
    GROUP BY suite, tag, benchmark, profile, scenario, backend, target, env, environment, metric
)
SELECT s.tag, s.benchmark, s.profile, s.scenario, s.backend, s.target, s.metric, s.environment,
       CASE s.env WHEN '' THEN '' ELSE coalesce(nullif(c.machine, ''), c.environment ->> 'host', s.collector) END AS machine,
       s.names, s.minima,
       (SELECT min(v.value::double precision)
        FROM result b, json_array_elements_text(b.statistics -> s.metric) AS v (value)
        WHERE b.suite = s.suite AND b.tag = s.tag AND b.benchmark = s.benchmark AND b.profile = s.profile AND b.scenario = s.scenario
          AND b.backend = s.backend AND b.target = s.target AND b.env = s.env AND b.sample = '' AND b.environment = s.environment) AS base
FROM series s LEFT JOIN collector_config c ON c.name = s.collector
ORDER BY s.metric, s.benchmark, s.profile, s.scenario, s.backend, s.target, s.tag, s.environment
