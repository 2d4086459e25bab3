SELECT job_id, log_started_at, log_ended_at, state IN ('lost', 'released') AS lost, phases FROM attempt WHERE job_id = ANY ($1) ORDER BY token
