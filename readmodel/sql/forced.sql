-- The jobs of the base series of artifacts that ran although their needs were not met. Those that have left the tables are not known.
SELECT tag, kind, target, "set", backend, profile, forced
FROM job_queue
WHERE suite = $1 AND tag = ANY ($2::text[]) AND sample = '' AND forced <> '' AND state IN ('in_progress', 'success', 'failure')
ORDER BY tag, created_seq, ordinal
