-- When the report of a request was posted, or given up.
SELECT count(*) > 0 AS reports, CASE WHEN bool_and(log_settled_at IS NOT NULL) THEN max(log_settled_at) END AS log_settled_at
FROM outbox WHERE request_id = $1 AND request_id <> '' AND purpose = 'report'
