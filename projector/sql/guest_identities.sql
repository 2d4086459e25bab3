-- The jobs that have the identity of one of the jobs given as a list of rows.
SELECT {job_queue j}
FROM json_populate_recordset(NULL::job_queue, $1::json) AS n
JOIN job_queue j USING (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, matched, requires, against, sample, round)
