SELECT {delivery}
FROM delivery
WHERE (@id = '' OR delivery = @id)
  AND (@outcome = '' OR outcome = @outcome)
  AND (NOT @waiting::boolean OR handled_seq IS NULL)
  AND (@pr::bigint = 0 OR pr = @pr)
  AND (@before::bigint = 0 OR received_seq < @before)
ORDER BY received_seq DESC
LIMIT @limit
