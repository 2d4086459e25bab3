SELECT {queue q}, r.kind, r.suite, r.tag, r.key, r.parent_tag, r.pr, r.state, r.account, r.priority, r.created_at, r.started_at
FROM queue q JOIN benchmark_request r USING (request_id)
WHERE q.position > @after AND (@request = '' OR q.request_id = @request)
ORDER BY q.position
LIMIT @limit
