SELECT suite, digest, current, published_at, seq, content::json AS content
FROM definition
WHERE suite = $1 AND current
