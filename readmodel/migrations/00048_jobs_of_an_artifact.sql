-- +goose Up

-- The id of a job is made from all of its identity, so the primary key says that a job is made once. An index of seventeen columns said the
-- same, and took as much room as all other indexes of the jobs. Reads look for the jobs of an artifact.
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
CREATE INDEX job_queue_artifact ON job_queue (suite, tag);

-- +goose Down
DROP INDEX job_queue_artifact;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, matched, requires, against, sample, recipe, chunk, chunks, round);
