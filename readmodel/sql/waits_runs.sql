-- The runs whose targets may lie in the window, and those that wait now. The latter are few.
SELECT j.target, j."set", j.matched, j.wished, greatest(j.attempts - 1, 0) AS retries, j.log_ready_at, j.log_begun_at, j.log_ended_at,
       j.state = 'cancelled' AND (r.state = 'expired' OR EXISTS (
           SELECT FROM graph_job n JOIN graph g ON g.request_id = n.request_id AND g.number = n.graph
           WHERE n.job_id = j.job_id AND g.outcome = 'expired'
       )) AS expired
FROM (
    SELECT * FROM job_queue
    WHERE log_ready_at >= @since AND log_ready_at < @until
    UNION ALL
    SELECT * FROM job_queue
    WHERE state IN ('queued', 'in_progress') AND log_begun_at IS NULL AND log_ready_at IS NOT NULL
      AND NOT (log_ready_at >= @since AND log_ready_at < @until)
) AS j
JOIN benchmark_request r ON r.request_id = j.request_id
WHERE @lane = '' OR CASE WHEN j.matched THEN j.target ELSE j.target || '/' || j."set" END = @lane
