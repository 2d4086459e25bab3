SELECT {error}
FROM error
WHERE request_id = ANY($1) AND NOT stale AND sample = ''
ORDER BY seq
