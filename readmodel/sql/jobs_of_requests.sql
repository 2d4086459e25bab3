SELECT {job_queue j}
FROM job_queue j
WHERE j.request_id = ANY($1) AND j.sample = ''
ORDER BY j.created_seq, j.ordinal
