SELECT row_to_json(j) FROM job_queue j WHERE state IN ('queued', 'in_progress')
