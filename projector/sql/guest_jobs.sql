SELECT {job_queue} FROM job_queue WHERE job_id = ANY ($1)
