SELECT suite, digest, current, published_at, seq
FROM definition
WHERE current OR NOT $1::boolean
ORDER BY seq DESC
