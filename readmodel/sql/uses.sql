-- What the last matched jobs of each sort used, of one suite or of all.
SELECT {job_use}
FROM job_use
WHERE $1 = '' OR suite = $1
ORDER BY suite, kind, target, "set", backend, profile
