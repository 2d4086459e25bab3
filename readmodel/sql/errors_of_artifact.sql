SELECT {error}
FROM error
WHERE suite = $1 AND tag = $2 AND NOT stale AND sample = ''
ORDER BY seq
