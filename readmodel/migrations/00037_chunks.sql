-- +goose Up

-- Which chunk a divided job is, of how many; 0 for a job that is not divided. units: the benchmarks that it measures, once it
-- was dispatched; chunk_part: their share of all by what they cost, in 1/1024.
ALTER TABLE job_queue
    ADD COLUMN chunk      bigint NOT NULL DEFAULT 0,
    ADD COLUMN chunks     bigint NOT NULL DEFAULT 0 CHECK (chunk BETWEEN 0 AND chunks),
    ADD COLUMN units      text[] NOT NULL DEFAULT '{}',
    ADD COLUMN chunk_part bigint NOT NULL DEFAULT 0,
    -- What a build does, as a digest; empty for other jobs.
    ADD COLUMN recipe     text   NOT NULL DEFAULT '';
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, matched, requires, against, sample, recipe, chunk, chunks, round);

-- +goose Down
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue DROP COLUMN chunk, DROP COLUMN chunks, DROP COLUMN units, DROP COLUMN chunk_part, DROP COLUMN recipe;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, matched, requires, against, sample, round);
