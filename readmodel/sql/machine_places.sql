-- The places that matched jobs have now. What a job reserves is what it requires, and the CPUs that it got.
SELECT job_id, request_id, suite, kind, tag,
       CASE WHEN built->'tokens'->>'got' IS NULL THEN requires ELSE
           ARRAY(SELECT r FROM unnest(requires) r WHERE r NOT LIKE 'cpus=%') || ('cpus=' || (built->'tokens'->>'got')) END AS requires, lane_target, lane_set, state, share
FROM job_queue
WHERE state IN ('queued', 'in_progress') AND place > 0 AND lane_target IS NOT NULL
ORDER BY lane_target, lane_set, place
