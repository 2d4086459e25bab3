-- A test case that is there already stays as it is; of $20 that came, those that were not inserted are counted.
WITH inserted AS (
    INSERT INTO result (suite, tag, benchmark, profile, scenario, backend, target, statistics, iterations,
                        interference, collector, environment, token, attempt, job_id, request_id, definitions,
                        measured_at, seq)
    SELECT suite, tag, benchmark, profile, scenario, backend, target, statistics::json, iterations,
           interference::json, collector, environment, token, attempt, job_id, request_id, definitions,
           measured_at, seq
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::bigint[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[], $15::text[],
                $16::text[], $17::text[], $18::timestamptz[], $19::bigint[])
         AS came (suite, tag, benchmark, profile, scenario, backend, target, statistics, iterations, interference,
                  collector, environment, token, attempt, job_id, request_id, definitions, measured_at, seq)
    ON CONFLICT DO NOTHING
    RETURNING 1
)
UPDATE projection_cursor
SET duplicate_results = duplicate_results + $20::bigint - (SELECT count(*) FROM inserted)
