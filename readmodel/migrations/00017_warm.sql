-- +goose Up

-- The caches that machines have: those that a job that ended there fills or finds filled. Results of artifacts are among
-- them, named =SUITE/TAG.
CREATE TABLE machine_warm (
    machine text   NOT NULL,
    name    text   NOT NULL,
    -- The end of the last job that used it.
    seq     bigint NOT NULL,
    PRIMARY KEY (machine, name)
);

ALTER TABLE job_queue
    -- The directories of its machine that a matched job fills and finds filled.
    ADD COLUMN caches   text[] NOT NULL DEFAULT '{}',
    -- Those of its caches, and of the results that it measures against, that some machine had when it was made, sorted.
    ADD COLUMN near     text[] NOT NULL DEFAULT '{}',
    -- When it last came back into the line from a machine; NULL if it never did.
    ADD COLUMN moved_at timestamptz;

-- +goose Down
ALTER TABLE job_queue DROP COLUMN caches, DROP COLUMN near, DROP COLUMN moved_at;
DROP TABLE machine_warm;
