SELECT {outbox}
FROM outbox
WHERE (@state = '' OR state = @state)
  AND (@pr::bigint = 0 OR pr = @pr)
  AND (@request = '' OR request_id = @request)
  AND (@before::bigint = 0 OR wanted_seq < @before)
ORDER BY wanted_seq DESC
LIMIT @limit
