SELECT seq, job_id, request_id, suite, tag, collector, token, attempt, kind, context, test_case, message, stale, time
FROM error
WHERE suite = $1 AND tag = $2 AND NOT stale
ORDER BY seq
