SELECT {job_queue j}
FROM job_queue j
WHERE (@id = '' OR j.job_id = @id)
  AND (@request = '' OR j.request_id = @request)
  AND (@state = '' OR CASE j.held WHEN '' THEN j.state ELSE j.held END = @state)
  AND (NOT @base::boolean OR j.sample = '')
  AND (NOT @open::boolean OR j.state IN ('queued', 'in_progress'))
  AND (@target = '' OR j.lane_target = @target AND j.lane_set = @set OR NOT j.matched AND j.target = @target AND j."set" = @set)
ORDER BY j.created_seq, j.ordinal
LIMIT @limit
