SELECT {job_queue j}
FROM job_queue j
WHERE j.state = 'in_progress'
ORDER BY j.created_seq, j.ordinal
