SELECT request_id, suite, kind, tag, key, state FROM benchmark_request
WHERE (starts_with(request_id, $1) OR starts_with(tag, $1))
  -- What is an artifact itself is no beginning of another, also when nobody asked for it.
  AND NOT EXISTS (SELECT FROM benchmark_request WHERE parent_tag = $1)
ORDER BY created_seq DESC
LIMIT $2
