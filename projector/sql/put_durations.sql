INSERT INTO job_duration (suite, target, "set", kind, backend, profile, finished_seqs, lengths_ms)
SELECT suite, target, "set", kind, backend, profile, finished_seqs, lengths_ms
FROM json_populate_recordset(NULL::job_duration, $1::json)
ON CONFLICT (suite, target, "set", kind, backend, profile) DO UPDATE SET
    (finished_seqs, lengths_ms) = (excluded.finished_seqs, excluded.lengths_ms)
