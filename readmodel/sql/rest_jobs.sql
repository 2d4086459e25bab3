-- The jobs of request $1 that say when it ends, optional ones and samples aside: those that run, and the last one of those that
-- wait for the same lane, or for machines that meet the same.
WITH waiting AS (
    SELECT job_id, created_seq, ordinal,
           CASE WHEN matched AND place = 0 THEN 'any ' || array_to_string(requires, ' ') ELSE coalesce(lane_target, target) || ' ' || coalesce(lane_set, "set") END AS what
    FROM job_queue
    WHERE request_id = $1 AND sample = '' AND NOT optional AND state = 'queued'
), last AS (
    SELECT DISTINCT ON (what) job_id FROM waiting ORDER BY what, created_seq DESC, ordinal DESC
)
SELECT {job_queue j}
FROM job_queue j
WHERE j.request_id = $1 AND j.sample = '' AND NOT j.optional
  AND (j.state = 'in_progress' OR j.job_id IN (SELECT job_id FROM last))
ORDER BY j.created_seq, j.ordinal
