SELECT * FROM benchmark_request
WHERE (@id = '' OR request_id = @id)
  AND (@suite = '' OR suite = @suite)
  AND (@tag = '' OR tag = @tag)
  AND (@state = '' OR state = @state)
  AND (@kind = '' OR kind = @kind)
  AND (@pr::bigint = 0 OR pr = @pr)
  AND (@account = '' OR account = @account)
  AND (@queue = '' OR queue = CASE @queue WHEN 'main' THEN '' ELSE @queue END)
  AND (@priority = '' OR priority = CASE @priority WHEN 'normal' THEN '' ELSE @priority END)
  AND (@together = '' OR together = @together)
  AND (@before::bigint = 0 OR created_seq < @before)
ORDER BY created_seq DESC
LIMIT @limit
