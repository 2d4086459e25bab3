-- +goose Up

-- A job that was cancelled is made again for the next request that needs it: the same identity, in its next round.
ALTER TABLE job_queue ADD COLUMN round bigint NOT NULL DEFAULT 0 CHECK (round >= 0);
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, round);

-- +goose Down
DELETE FROM job_queue WHERE round > 0;
ALTER TABLE job_queue DROP COLUMN round;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks);
