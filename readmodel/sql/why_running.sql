-- What runs on a lane.
SELECT job_id, collector, started_at FROM attempt WHERE target = $1 AND "set" = $2 AND state = 'running'
