INSERT INTO error (seq, job_id, request_id, suite, tag, collector, token, attempt, kind, context, test_case, message, stale, time)
SELECT seq, job_id, request_id, suite, tag, collector, token, attempt, kind, context, test_case, message, stale, time
FROM json_populate_recordset(NULL::error, $1::json)
