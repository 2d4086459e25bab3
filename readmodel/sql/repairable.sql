-- Whether the newest round of some job of request $1 failed or was cancelled, samples aside.
SELECT EXISTS (
    SELECT FROM job_queue j
    WHERE j.request_id = $1 AND j.sample = '' AND j.state IN ('failure', 'cancelled') AND NOT EXISTS (
        SELECT FROM job_queue k
        WHERE k.request_id = $1 AND k.sample = '' AND k.tag = j.tag AND k.kind = j.kind AND k.target = j.target AND k."set" = j."set" AND k.backend = j.backend
          AND k.profile = j.profile AND k.benchmarks = j.benchmarks AND k.measures = j.measures AND k.requires = j.requires AND k.against = j.against
          AND k.round > j.round
    )
)
