SELECT target, "set", suite, kind, backend, profile, duration_ms, finished_seq
FROM (
    SELECT *, row_number() OVER (PARTITION BY target, "set", suite, kind, backend, profile ORDER BY finished_seq DESC) AS age
    FROM job_queue
    WHERE state = 'success' AND measured > 0
) AS aged
WHERE age <= 10
ORDER BY finished_seq
