SELECT suite, digest, current, published_at, seq, content::json AS content
FROM definition
WHERE digest = $1
ORDER BY seq
LIMIT 1
