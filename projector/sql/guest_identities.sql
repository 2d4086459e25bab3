-- The jobs that have the identity of one of the jobs given.
SELECT {job_queue j}
FROM {job_queue[]} AS n
JOIN job_queue j USING (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, round)
