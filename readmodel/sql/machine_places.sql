-- The places that matched jobs have now.
SELECT job_id, request_id, suite, kind, tag, requires, lane_target, lane_set, state, share
FROM job_queue
WHERE state IN ('queued', 'in_progress') AND place > 0 AND lane_target IS NOT NULL
ORDER BY lane_target, lane_set, place
