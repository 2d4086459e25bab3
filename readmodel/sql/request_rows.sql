-- The requests that another query chooses, with the counts of their jobs and errors.
SELECT {benchmark_request r},
       (extract(epoch FROM r.ended_at - r.started_at) * 1000)::bigint AS duration_ms,
       j.job_counts, e.errors
FROM (
    CHOSEN
) AS r
CROSS JOIN LATERAL (
    SELECT json_build_object(
               'total', count(*) FILTER (WHERE sample = ''),
               'queued', count(*) FILTER (WHERE sample = '' AND state = 'queued' AND held = ''),
               'blocked', count(*) FILTER (WHERE sample = '' AND held = 'blocked'),
               'skipped', count(*) FILTER (WHERE sample = '' AND held = 'skipped'),
               'in_progress', count(*) FILTER (WHERE sample = '' AND state = 'in_progress'),
               'success', count(*) FILTER (WHERE sample = '' AND state = 'success'),
               'failure', count(*) FILTER (WHERE sample = '' AND state = 'failure'),
               'cancelled', count(*) FILTER (WHERE sample = '' AND state = 'cancelled'),
               'retired', count(*) FILTER (WHERE sample = '' AND retired),
               'samples', count(*) FILTER (WHERE sample <> '')) AS job_counts
    FROM (
        SELECT state, held, sample, false AS retired FROM job_queue WHERE request_id = r.request_id
        UNION ALL
        SELECT state, '', sample, true FROM retired_job WHERE request_id = r.request_id
    ) AS every
) AS j
CROSS JOIN LATERAL (SELECT count(*) AS errors FROM error WHERE request_id = r.request_id AND NOT stale AND sample = '') AS e
ORDER BY r.created_seq DESC
