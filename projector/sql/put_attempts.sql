-- The rows come in the order of their tokens: an attempt ends before the next one of its lane begins.
INSERT INTO attempt (token, job_id, request_id, target, "set", collector, instance, attempt, lost, version, environment, state,
    outcome, reason, started_at, ended_at, measured, skipped, failed, duration_ms)
SELECT token, job_id, request_id, target, "set", collector, instance, attempt, lost, version, environment, state,
       outcome, reason, started_at, ended_at, measured, skipped, failed, duration_ms
FROM json_populate_recordset(NULL::attempt, $1::json)
ON CONFLICT (token) DO UPDATE SET
    (state, outcome, reason, ended_at, measured, skipped, failed, duration_ms)
    = (excluded.state, excluded.outcome, excluded.reason, excluded.ended_at, excluded.measured,
    excluded.skipped, excluded.failed, excluded.duration_ms)
