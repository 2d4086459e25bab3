-- What was measured of artifact $2 in turns with $3.
SELECT {block b}, coalesce(nullif(c.machine, ''), c.environment ->> 'host', b.collector) AS machine
FROM block b LEFT JOIN collector_config c ON c.name = b.collector
WHERE b.suite = $1 AND b.tag = $2 AND b.beside = $3
ORDER BY b.benchmark, b.profile, b.scenario, b.backend, b.target, b.environment
