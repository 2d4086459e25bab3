SELECT job_id FROM job_queue WHERE starts_with(job_id, $1)
UNION
SELECT job_id FROM retired_job WHERE starts_with(job_id, $1)
ORDER BY job_id
LIMIT $2
