-- What the newest started request of each suite and kind was given, in the order of creation. A request without
-- jobs comes with one row that has no job.
WITH newest AS (
    SELECT DISTINCT ON (suite, kind) suite, kind, request_id
    FROM benchmark_request
    WHERE started_seq IS NOT NULL
    ORDER BY suite, kind, started_seq DESC
)
SELECT n.suite, n.kind, n.request_id, row_to_json(j)
FROM newest n LEFT JOIN job_queue j ON j.request_id = n.request_id AND NOT j.backfill
ORDER BY j.created_seq, j.ordinal
