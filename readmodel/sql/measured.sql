-- The newest artifacts that have results, by the requests that began last, among the last 1,000 of these.
SELECT tag
FROM (
    SELECT tag, started_seq
    FROM benchmark_request b
    WHERE suite = @suite AND started_seq IS NOT NULL
      AND NOT EXISTS (SELECT FROM benchmark_request WHERE suite = @suite AND tag = b.tag AND started_seq > b.started_seq)
    ORDER BY started_seq DESC
    LIMIT 1000
) AS r
WHERE EXISTS (SELECT FROM result WHERE suite = @suite AND tag = r.tag AND sample = '')
ORDER BY started_seq DESC
LIMIT @n
