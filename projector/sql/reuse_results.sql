-- What run $1 measured is what job $2 of request $3, with the definitions $4, measured of the artifact $5 $6 on $7, by the event
-- $8. This runs after the results of the batch were stored. Of two results of a test case the one stays that came first, whatever the
-- batches were.
INSERT INTO result (suite, tag, benchmark, profile, scenario, backend, target, statistics, iterations, interference, collector,
                    environment, token, attempt, job_id, request_id, definitions, measured_at, seq, env, sample, reused_from)
SELECT r.suite, $6::text, r.benchmark, r.profile, r.scenario, r.backend, r.target, r.statistics, r.iterations, r.interference, r.collector,
       r.environment, r.token, r.attempt, $2::text, $3::text, $4::text, r.measured_at, $8::bigint, r.env, r.sample, r.job_id
FROM result r
WHERE r.job_id = $1 AND r.suite = $5 AND r.target = $7 AND r.tag <> $6 AND r.sample = '' AND r.reused_from = '' AND r.seq < $8
ON CONFLICT (suite, tag, benchmark, profile, scenario, backend, target, env, sample) DO UPDATE
SET statistics = excluded.statistics, iterations = excluded.iterations, interference = excluded.interference, collector = excluded.collector,
    environment = excluded.environment, token = excluded.token, attempt = excluded.attempt, job_id = excluded.job_id,
    request_id = excluded.request_id, definitions = excluded.definitions, measured_at = excluded.measured_at, seq = excluded.seq,
    reused_from = excluded.reused_from
WHERE result.seq > excluded.seq
