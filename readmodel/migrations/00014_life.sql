-- +goose Up

ALTER TABLE job_queue
    -- The categories of benchmarks that it measures, where they are not those of a master.
    ADD COLUMN measures text[] NOT NULL DEFAULT '{}',
    -- The kind of error that ended the whole job; empty when its test cases were all tried.
    ADD COLUMN fault text NOT NULL DEFAULT '',
    -- The newest attempt whose results are closed: nothing more that it reports counts.
    ADD COLUMN closed bigint NOT NULL DEFAULT 0;
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, round);

-- +goose Down
DELETE FROM job_queue WHERE cardinality(measures) > 0;
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue DROP COLUMN measures, DROP COLUMN fault, DROP COLUMN closed;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, round);
