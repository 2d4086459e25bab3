-- What was measured of artifact $2 in turns with $3.
SELECT {block}
FROM block
WHERE suite = $1 AND tag = $2 AND beside = $3
ORDER BY benchmark, profile, scenario, backend, target, environment
