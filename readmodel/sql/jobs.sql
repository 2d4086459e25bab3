-- Those that have not ended are few, and have an index: for their states it is named as it is there.
SELECT {job_queue j}
FROM job_queue j
WHERE (@id = '' OR j.job_id = @id)
  AND (@request = '' OR j.request_id = @request)
  AND CASE WHEN @state = '' THEN true
           WHEN @state IN ('success', 'failure', 'cancelled') THEN j.state = @state
           ELSE j.state IN ('queued', 'in_progress') AND CASE j.held WHEN '' THEN j.state ELSE j.held END = @state END
  AND (NOT @base::boolean OR j.sample = '')
  AND (NOT @open::boolean OR j.state IN ('queued', 'in_progress'))
  AND (@target = '' OR j.lane_target = @target AND j.lane_set = @set OR NOT j.matched AND j.target = @target AND j."set" = @set)
  AND (@after::bigint = 0 OR (j.created_seq, j.ordinal) > (@after, @ordinal::bigint))
ORDER BY j.created_seq, j.ordinal
LIMIT @limit
