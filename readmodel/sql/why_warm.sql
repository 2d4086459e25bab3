-- The machines that have caches for which matched jobs wait.
SELECT {machine_warm w}
FROM machine_warm w
WHERE w.name IN (SELECT unnest(near) FROM job_queue WHERE state = 'queued' AND place = 0 AND held = '' AND matched)
ORDER BY w.machine, w.name
