-- The machine of a benchmark is the one that measured it last: what it measured is one series. For each test
-- case the newest artifacts tell how long all iterations take, on any machine. Samples beside the base series tell nothing.
WITH seen AS (
    SELECT tag, benchmark, profile, scenario, backend, environment, env,
           row_number() OVER (PARTITION BY benchmark, profile, scenario, backend ORDER BY seq DESC, tag) AS age,
           first_value(environment) OVER (PARTITION BY benchmark ORDER BY seq DESC, tag) AS machine
    FROM result
    WHERE suite = @suite AND target = @target AND sample = '' AND reused_from = ''
)
SELECT s.benchmark, s.profile, s.scenario, s.backend, @target::text AS target,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY took.seconds) AS seconds,
       count(*) FILTER (WHERE s.environment = s.machine) AS artifacts
FROM seen s
LEFT JOIN LATERAL (
    SELECT (SELECT sum(v.value::double precision) FROM json_array_elements_text(r.statistics -> 'wall-time') AS v (value)) AS seconds
    FROM result r
    WHERE s.age <= @n::bigint AND r.suite = @suite AND r.tag = s.tag AND r.benchmark = s.benchmark AND r.profile = s.profile
      AND r.scenario = s.scenario AND r.backend = s.backend AND r.target = @target AND r.env = s.env AND r.sample = ''
) AS took ON true
GROUP BY s.benchmark, s.profile, s.scenario, s.backend
ORDER BY s.benchmark, s.profile, s.scenario, s.backend
