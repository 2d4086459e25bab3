-- What the last @n artifacts of a suite that have results on a target tell: one row for each result, in no order. Artifacts
-- are taken in the order in which their requests began, and only the last @requests of these are looked at: so the read does not
-- grow with history. Samples beside the base series tell nothing, and neither does what was taken over. The artifacts are
-- an array, so that their results are found by the index, however many there are.
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
SELECT benchmark, profile, scenario, backend, environment, seq, statistics ->> 'wall-time'
FROM result
WHERE suite = @suite AND tag = ANY (ARRAY(SELECT tag FROM recent)) AND target = @target AND sample = '' AND reused_from = ''
