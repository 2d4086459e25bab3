-- The machines that lost an attempt of a job.
SELECT DISTINCT c.machine
FROM attempt a JOIN collector_config c ON c.name = a.collector
WHERE a.job_id = $1 AND a.state = 'lost' AND c.machine <> ''
