UPDATE job_queue
SET measured = came.measured
FROM unnest($1::text[], $2::bigint[]) AS came (job_id, measured)
WHERE job_queue.job_id = came.job_id
