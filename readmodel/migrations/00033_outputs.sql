-- +goose Up

-- What jobs stored, by name: outputs for other jobs, and uploads for people. A later attempt replaces what an earlier one
-- stored under the same name.
CREATE TABLE output (
    job_id  text    NOT NULL,
    name    text    NOT NULL,
    digest  text    NOT NULL,
    bytes   bigint  NOT NULL,
    -- The lane that stored it.
    target  text    NOT NULL,
    set     bigint  NOT NULL,
    attempt bigint  NOT NULL,
    upload  boolean NOT NULL,
    seq     bigint  NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (job_id, name)
);

-- outputs: the names of what a job stored for others. built: what a job that builds is made of, and what it uses of others;
-- NULL for other jobs.
ALTER TABLE job_queue
    ADD COLUMN outputs text[] NOT NULL DEFAULT '{}',
    ADD COLUMN built   json;

-- outputs: what the newest round has stored. stale: it uses an output of a job that has failed since.
ALTER TABLE graph_job
    ADD COLUMN outputs text[]  NOT NULL DEFAULT '{}',
    ADD COLUMN stale   boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE graph_job DROP COLUMN outputs, DROP COLUMN stale;
ALTER TABLE job_queue DROP COLUMN outputs, DROP COLUMN built;
DROP TABLE output;
