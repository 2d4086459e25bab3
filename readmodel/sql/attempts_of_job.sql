SELECT token, job_id, request_id, target, "set", collector, instance, attempt, lost, version, environment, state,
       outcome, reason, started_at, ended_at, measured, skipped, failed, duration_ms
FROM attempt
WHERE job_id = $1
ORDER BY token
