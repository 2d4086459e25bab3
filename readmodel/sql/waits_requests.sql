-- The requests that ended in the window with results, by kind.
SELECT r.kind, r.log_created_at, r.log_artifacts_at, r.log_started_at, r.log_ended_at, o.reports, o.log_settled_at
FROM benchmark_request r
CROSS JOIN LATERAL (
    SELECT count(*) > 0 AS reports, CASE WHEN bool_and(log_settled_at IS NOT NULL) THEN max(log_settled_at) END AS log_settled_at
    FROM outbox WHERE request_id = r.request_id AND request_id <> '' AND purpose = 'report'
) AS o
WHERE r.log_ended_at >= @since AND r.log_ended_at < @until AND r.state IN ('completed', 'failed') AND r.log_created_at IS NOT NULL
