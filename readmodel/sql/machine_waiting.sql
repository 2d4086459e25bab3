-- The matched jobs that wait for a machine, by what they require.
SELECT artifact_kind, requires, count(*) AS jobs, min(created_at) AS since, min(job_id) AS job_id
FROM job_queue
WHERE state = 'queued' AND place = 0 AND matched AND held = ''
GROUP BY artifact_kind, requires
ORDER BY jobs DESC, requires, artifact_kind
