-- The job of the base series that measures what a sample measures, in its newest round: that of the request itself if it made
-- one. A sample may be narrowed to some benchmarks, so that its identity does not lead to that job. The artifact of a parent may
-- have been measured by a job of its child, beside that.
SELECT b.job_id
FROM job_queue j, job_queue b
WHERE j.job_id = $1 AND b.sample = '' AND b.suite = j.suite AND b.kind = j.kind AND b.target = j.target AND b."set" = j."set"
  AND b.backend = j.backend AND b.profile = j.profile AND (b.tag = j.tag OR b.against = j.tag AND b.request_id = j.request_id)
ORDER BY b.tag = j.tag DESC, b.against = j.against DESC, b.request_id = j.request_id DESC, b.benchmarks = j.benchmarks DESC, b.measures = j.measures DESC, b.created_seq DESC, b.ordinal DESC
LIMIT 1
