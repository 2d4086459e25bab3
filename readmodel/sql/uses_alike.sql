-- What the last matched jobs of one sort used.
SELECT {job_use}
FROM job_use
WHERE suite = $1 AND target = $2 AND "set" = $3 AND kind = $4 AND backend = $5 AND profile = $6
