SELECT job_id, state, log_ready_at, log_ended_at FROM job_queue WHERE job_id = ANY ($1)
