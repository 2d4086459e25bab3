SELECT r.request_id, r.kind, r.suite, r.tag, r.parent_tag, r.pr, r.released_on, r.key, r.parameters, r.state, r.reason,
       r.created_by, r.created_at, r.created_seq, r.artifacts_ready_at, r.started_at, r.ended_at,
       (extract(epoch FROM r.ended_at - r.started_at) * 1000)::bigint AS duration_ms,
       r.definitions, r.jobs, r.backfill_jobs, r.expansion_failures, r.superseded_by,
       j.jobs_total, j.jobs_queued, j.jobs_in_progress, j.jobs_success, j.jobs_failure, j.jobs_cancelled,
       j.jobs_retired, e.errors
FROM (
    SELECT * FROM benchmark_request
    WHERE (@id = '' OR request_id = @id)
      AND (@ids::text[] IS NULL OR request_id = ANY(@ids))
      AND (@suite = '' OR suite = @suite)
      AND (@tag = '' OR tag = @tag)
      AND (@state = '' OR state = @state)
      AND (@kind = '' OR kind = @kind)
      AND (@pr::bigint = 0 OR pr = @pr)
      AND (@before::bigint = 0 OR created_seq < @before)
    ORDER BY created_seq DESC
    LIMIT @limit
) AS r
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs_total,
           count(*) FILTER (WHERE state = 'queued') AS jobs_queued,
           count(*) FILTER (WHERE state = 'in_progress') AS jobs_in_progress,
           count(*) FILTER (WHERE state = 'success') AS jobs_success,
           count(*) FILTER (WHERE state = 'failure') AS jobs_failure,
           count(*) FILTER (WHERE state = 'cancelled') AS jobs_cancelled,
           count(*) FILTER (WHERE retired) AS jobs_retired
    FROM (
        SELECT state, false AS retired FROM job_queue WHERE request_id = r.request_id
        UNION ALL
        SELECT state, true FROM retired_job WHERE request_id = r.request_id
    ) AS every
) AS j
CROSS JOIN LATERAL (SELECT count(*) AS errors FROM error WHERE request_id = r.request_id AND NOT stale) AS e
ORDER BY r.created_seq DESC
