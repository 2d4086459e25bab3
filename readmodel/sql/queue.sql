SELECT q.position, q.request_id, r.kind, r.suite, r.tag, r.key, r.parent_tag, r.pr, r.state, q.level, q.reason, q.startable,
       r.created_at, r.started_at, q.estimated_start, q.estimated_end, q.estimated_start_earliest,
       q.estimated_start_latest, q.estimated_end_earliest, q.estimated_end_latest, q.overrun, q.guessed,
       q.no_end
FROM queue q JOIN benchmark_request r USING (request_id)
ORDER BY q.position
