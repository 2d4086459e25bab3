INSERT INTO job_queue (job_id, request_id, suite, tag, artifact_kind, kind, target, "set", backend, profile, benchmarks, measures, round, optional,
    backfill, definitions, state, reason, created_at, created_seq, ordinal, dispatched_at, place, dequeued_at,
    collector, token, attempts, lost, finished_at, finished_seq, measured, skipped, failed, duration_ms, fault, closed, cases)
SELECT job_id, request_id, suite, tag, artifact_kind, kind, target, "set", backend, profile, benchmarks, measures, round, optional,
       backfill, definitions, state, reason, created_at, created_seq, ordinal, dispatched_at, place, dequeued_at,
       collector, token, attempts, lost, finished_at, finished_seq, measured, skipped, failed, duration_ms, fault, closed, cases
FROM json_populate_recordset(NULL::job_queue, $1::json)
ON CONFLICT (job_id) DO UPDATE SET
    (state, reason, dispatched_at, place, dequeued_at, collector, token, attempts, lost, finished_at,
    finished_seq, measured, skipped, failed, duration_ms, fault, closed)
    = (excluded.state, excluded.reason, excluded.dispatched_at, excluded.place, excluded.dequeued_at,
    excluded.collector, excluded.token, excluded.attempts, excluded.lost, excluded.finished_at,
    excluded.finished_seq, excluded.measured, excluded.skipped, excluded.failed, excluded.duration_ms, excluded.fault, excluded.closed)
