SELECT {job_queue}
FROM job_queue
WHERE state IN ('queued', 'in_progress')
   OR request_id IN (SELECT request_id FROM benchmark_request WHERE state = 'in_progress')
