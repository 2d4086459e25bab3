SELECT seq, job_id, request_id, suite, tag, collector, token, attempt, kind, context, test_case, message, stale, time
FROM error
WHERE (@job = '' OR job_id = @job)
  AND (@request = '' OR (request_id = @request AND NOT stale))
ORDER BY seq
