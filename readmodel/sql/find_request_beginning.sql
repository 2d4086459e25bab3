SELECT request_id, suite, kind, tag, key, state FROM benchmark_request
WHERE (starts_with(request_id, $1) OR starts_with(tag, $1))
  -- The name of an artifact is not the beginning of another one, not even if nobody asked for that artifact.
  AND NOT EXISTS (SELECT FROM benchmark_request WHERE parent_tag = $1)
ORDER BY created_seq DESC
LIMIT $2
