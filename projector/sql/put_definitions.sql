INSERT INTO definition (suite, digest, content, current, published_at, seq)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (suite, digest) DO UPDATE SET
    (current, published_at, seq) = (excluded.current, excluded.published_at, excluded.seq)
