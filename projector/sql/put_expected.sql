INSERT INTO expected_jobs (suite, kind, parameters, request_id, jobs)
SELECT suite, kind, parameters, request_id, jobs
FROM json_populate_recordset(NULL::expected_jobs, $1::json)
ON CONFLICT (suite, kind, parameters) DO UPDATE SET (request_id, jobs) = (excluded.request_id, excluded.jobs)
