-- +goose Up

-- Four times of five a request starts and ends between these. NULL where nobody knows, and for starts that are
-- facts and no estimates.
ALTER TABLE queue
    ADD COLUMN estimated_start_earliest timestamptz,
    ADD COLUMN estimated_start_latest   timestamptz,
    ADD COLUMN estimated_end_earliest   timestamptz,
    ADD COLUMN estimated_end_latest     timestamptz,
    -- A running job of the request takes longer than expected.
    ADD COLUMN overrun                  boolean NOT NULL DEFAULT false,
    -- The length of no job was known: the request was taken to last an hour.
    ADD COLUMN guessed                  boolean NOT NULL DEFAULT false,
    ADD CHECK ((estimated_start_earliest IS NULL) = (estimated_start_latest IS NULL)),
    ADD CHECK ((estimated_end_earliest IS NULL) = (estimated_end_latest IS NULL)),
    ADD CHECK (estimated_start BETWEEN estimated_start_earliest AND estimated_start_latest),
    ADD CHECK (estimated_end BETWEEN estimated_end_earliest AND estimated_end_latest);

-- What estimates are made from is kept apart from the jobs, which leave the tables some time after they ended.

-- How long the last jobs of each sort took, oldest first; finished_seqs are the events that said so.
CREATE TABLE job_duration (
    suite         text     NOT NULL,
    target        text     NOT NULL,
    "set"         bigint   NOT NULL,
    kind          text     NOT NULL,
    backend       text     NOT NULL,
    profile       text     NOT NULL,
    finished_seqs bigint[] NOT NULL,
    lengths_ms    bigint[] NOT NULL,
    PRIMARY KEY (suite, target, "set", kind, backend, profile),
    CHECK (cardinality(finished_seqs) = cardinality(lengths_ms) AND cardinality(lengths_ms) BETWEEN 1 AND 10)
);

-- What the newest started request of each sort was given: what has not started is expected to get the same.
CREATE TABLE expected_jobs (
    suite      text  NOT NULL,
    kind       text  NOT NULL,
    request_id text  NOT NULL,
    jobs       jsonb NOT NULL,
    PRIMARY KEY (suite, kind)
);

-- What is left of jobs that ended long ago. Their events are in the log for ever.
CREATE TABLE retired_job (
    job_id       text PRIMARY KEY,
    request_id   text        NOT NULL,
    state        text        NOT NULL CHECK (state IN ('success', 'failure', 'cancelled')),
    -- From the event that took the job out of the tables.
    ended_before timestamptz NOT NULL,
    seq          bigint      NOT NULL
);
CREATE INDEX retired_job_request ON retired_job (request_id);
CREATE INDEX job_queue_finished ON job_queue (finished_at) WHERE finished_at IS NOT NULL;

-- +goose Down
DROP INDEX job_queue_finished;
DROP TABLE retired_job, expected_jobs, job_duration;
ALTER TABLE queue
    DROP COLUMN estimated_start_earliest, DROP COLUMN estimated_start_latest, DROP COLUMN estimated_end_earliest,
    DROP COLUMN estimated_end_latest, DROP COLUMN overrun, DROP COLUMN guessed;
