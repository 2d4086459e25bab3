SELECT hook, delivery, event, size, received_at, received_seq, handled_at, handled_seq, outcome, reason, repo, pr, comment,
       sender, sender_id, command, requests
FROM delivery
WHERE (@id = '' OR delivery = @id)
  AND (@outcome = '' OR outcome = @outcome)
  AND (NOT @waiting::boolean OR handled_seq IS NULL)
  AND (@pr::bigint = 0 OR pr = @pr)
  AND (@before::bigint = 0 OR received_seq < @before)
ORDER BY received_seq DESC
LIMIT @limit
