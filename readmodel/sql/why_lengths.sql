-- How long the last jobs of a sort took.
SELECT unnest(lengths_ms) AS ms FROM job_duration
WHERE suite = $1 AND target = $2 AND "set" = $3 AND kind = $4 AND backend = $5 AND profile = $6
