SELECT request_id, suite, kind, tag, key, state FROM benchmark_request
WHERE request_id = $1 OR tag = $1 OR key = $1 OR key = $2
ORDER BY request_id = $1 DESC, tag = $1 DESC, created_seq DESC
LIMIT $3
