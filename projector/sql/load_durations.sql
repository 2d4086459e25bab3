-- The last jobs of each sort that count for estimates (see countsAsDuration), in the order they finished.
SELECT row_to_json(aged)
FROM (
    SELECT *, row_number() OVER (PARTITION BY suite, target, "set", kind, backend, profile ORDER BY finished_seq DESC) AS age
    FROM job_queue
    WHERE state = 'success' AND measured > 0
) AS aged
WHERE age <= 10
ORDER BY finished_seq
