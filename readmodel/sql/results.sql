SELECT {result}
FROM result
WHERE suite = $1 AND tag = $2
ORDER BY benchmark, profile, scenario, backend, target
