-- How many open places are before one on its lane.
SELECT count(*) AS ahead
FROM job_queue
WHERE state IN ('queued', 'in_progress') AND (lane_target = $1 AND lane_set = $2 OR NOT matched AND target = $1 AND "set" = $2) AND place > 0 AND place < $3
