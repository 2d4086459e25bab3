SELECT seq, job_id, request_id, suite, tag, collector, token, attempt, kind, context, test_case, message, stale, time
FROM error
WHERE request_id = ANY($1) AND NOT stale
ORDER BY seq
