-- The jobs that ended before $1 leave with their attempts, and a line of each stays. This runs before the jobs
-- and attempts of the batch are written. $3 to $5 and $7 are the jobs that the state knows; some have no row
-- yet, or an older one. For the others their rows decide. The jobs $2 stay: their attempt is the current one of a lane.
WITH known AS (
    SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $7::text[]) AS k (job_id, request_id, state, sample)
), gone AS (
    DELETE FROM job_queue
    WHERE (finished_at < $1::timestamptz OR job_id = ANY ($3)) AND job_id <> ALL ($2::text[])
    RETURNING job_id, request_id, state, sample
), attempts AS (
    DELETE FROM attempt WHERE job_id IN (SELECT job_id FROM gone)
), outputs AS (
    DELETE FROM output WHERE job_id IN (SELECT job_id FROM gone)
)
INSERT INTO retired_job (job_id, request_id, state, ended_before, seq, sample)
SELECT job_id, request_id, state, $1::timestamptz, $6::bigint, sample FROM known
UNION ALL
SELECT job_id, request_id, state, $1::timestamptz, $6::bigint, sample FROM gone WHERE job_id NOT IN (SELECT job_id FROM known)
