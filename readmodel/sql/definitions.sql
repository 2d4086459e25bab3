SELECT {definition but content}, NULL::text AS content
FROM definition
WHERE (@suite = '' OR suite = @suite)
  AND (@before::bigint = 0 OR seq < @before)
ORDER BY seq DESC
LIMIT @limit
