SELECT day, account, queue, sum(jobs)::bigint AS jobs, sum(charged_ms)::bigint AS charged_ms
FROM usage
WHERE (@account = '' OR account = @account)
  AND (@queue = '' OR queue = CASE @queue WHEN 'main' THEN '' ELSE @queue END)
  AND day >= @from AND (@to = '' OR day <= @to)
GROUP BY day, account, queue
ORDER BY day DESC, account, queue
LIMIT @limit OFFSET @offset
