INSERT INTO benchmark_request (request_id, kind, suite, tag, parent_tag, pr, released_on, key, parameters, state, reason, created_by,
    created_at, created_seq, artifacts_ready_at, started_at, started_seq, ended_at, ended_seq, definitions, jobs,
    backfill_jobs, failed_jobs, expansion_failures, superseded_by)
SELECT request_id, kind, suite, tag, parent_tag, pr, released_on, key, parameters, state, reason, created_by,
       created_at, created_seq, artifacts_ready_at, started_at, started_seq, ended_at, ended_seq, definitions, jobs,
       backfill_jobs, failed_jobs, expansion_failures, superseded_by
FROM json_populate_recordset(NULL::benchmark_request, $1::json)
ON CONFLICT (request_id) DO UPDATE SET
    (tag, parent_tag, state, reason, artifacts_ready_at, started_at, started_seq, ended_at, ended_seq,
    definitions, jobs, backfill_jobs, failed_jobs, expansion_failures, superseded_by)
    = (excluded.tag, excluded.parent_tag, excluded.state, excluded.reason, excluded.artifacts_ready_at,
    excluded.started_at, excluded.started_seq, excluded.ended_at, excluded.ended_seq, excluded.definitions,
    excluded.jobs, excluded.backfill_jobs, excluded.failed_jobs, excluded.expansion_failures,
    excluded.superseded_by)
