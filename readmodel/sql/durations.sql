-- What the last @n artifacts of a suite that have results on a target tell: one row for each result, the newest first. Artifacts
-- are taken in the order in which their requests began, and only the last @requests of these are looked at: so the read does not
-- grow with history. Samples beside the base series tell nothing, and neither does what was taken over.
WITH started AS (
    SELECT tag, started_seq
    FROM benchmark_request b
    WHERE suite = @suite AND started_seq IS NOT NULL
      AND NOT EXISTS (SELECT FROM benchmark_request WHERE suite = @suite AND tag = b.tag AND started_seq > b.started_seq)
    ORDER BY started_seq DESC
    LIMIT @requests
), recent AS (
    SELECT tag
    FROM started s
    WHERE EXISTS (SELECT FROM result WHERE suite = @suite AND tag = s.tag AND target = @target AND sample = '' AND reused_from = '')
    ORDER BY started_seq DESC
    LIMIT @n
)
SELECT r.benchmark, r.profile, r.scenario, r.backend, r.target, r.environment, r.tag, r.statistics ->> 'wall-time' AS wall_times
FROM recent JOIN result r USING (tag)
WHERE r.suite = @suite AND r.target = @target AND r.sample = '' AND r.reused_from = ''
ORDER BY r.seq DESC, r.tag
