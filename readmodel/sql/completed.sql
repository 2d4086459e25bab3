SELECT request_id
FROM benchmark_request
WHERE ended_seq IS NOT NULL AND started_seq IS NOT NULL
ORDER BY ended_seq DESC
LIMIT $1
