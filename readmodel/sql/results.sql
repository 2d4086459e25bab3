-- The base series of an artifact. machine names the machine of a result that is kept for each machine.
SELECT {result r}, CASE r.env WHEN '' THEN '' ELSE coalesce(nullif(c.machine, ''), c.environment ->> 'host', r.collector) END AS machine
FROM result r LEFT JOIN collector_config c ON c.name = r.collector
WHERE r.suite = $1 AND r.tag = $2 AND r.sample = ''
ORDER BY r.benchmark, r.profile, r.scenario, r.backend, r.target, r.env
