SELECT suite, tag, benchmark, profile, scenario, backend, target, statistics, iterations, interference, collector,
       environment, token, attempt, job_id, request_id, definitions, measured_at, seq
FROM result
WHERE suite = $1 AND tag = $2
ORDER BY benchmark, profile, scenario, backend, target
