SELECT {error}
FROM error
WHERE (@job = '' OR job_id = @job)
  AND (@request = '' OR (request_id = @request AND NOT stale AND sample = ''))
ORDER BY seq
LIMIT @limit
