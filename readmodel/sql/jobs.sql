SELECT j.job_id, j.request_id, j.suite, j.tag, j.artifact_kind, j.kind, j.target, j."set", j.backend, j.profile,
       j.benchmarks, j.round, j.optional, j.backfill, j.definitions, j.state, j.reason, j.created_at, j.dispatched_at, j.place,
       j.dequeued_at, j.collector, j.token, j.attempts, j.lost, j.finished_at, j.measured, j.skipped, j.failed,
       j.duration_ms, j.measures, j.fault
FROM job_queue j
WHERE (@id = '' OR j.job_id = @id)
  AND (@request = '' OR j.request_id = @request)
  AND (@state = '' OR j.state = @state)
  AND (NOT @open::boolean OR j.state IN ('queued', 'in_progress'))
  AND (@target = '' OR (j.target = @target AND j."set" = @set))
ORDER BY j.created_seq, j.ordinal
LIMIT @limit
