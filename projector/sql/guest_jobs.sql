SELECT row_to_json(j) FROM job_queue j WHERE job_id = ANY ($1)
