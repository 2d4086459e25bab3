-- +goose Up

-- Why nobody can say when the request ends, in words; else empty.
ALTER TABLE queue ADD COLUMN no_end text NOT NULL DEFAULT '';
ALTER TABLE queue ADD CHECK (no_end = '' OR estimated_end IS NULL);

-- How many test cases the job has, where no job like it was measured when it was made; else 0.
ALTER TABLE job_queue ADD COLUMN cases bigint NOT NULL DEFAULT 0 CHECK (cases >= 0);

-- Requests with other parameters are given other jobs. Empty for requests without parameters, else a digest of the
-- targets, backends and profiles that they ask for.
ALTER TABLE expected_jobs
    ADD COLUMN parameters text NOT NULL DEFAULT '',
    DROP CONSTRAINT expected_jobs_pkey,
    ADD PRIMARY KEY (suite, kind, parameters);
ALTER TABLE expected_jobs ALTER COLUMN parameters DROP DEFAULT;

-- +goose Down
DELETE FROM expected_jobs WHERE parameters <> '';
ALTER TABLE expected_jobs
    DROP CONSTRAINT expected_jobs_pkey,
    DROP COLUMN parameters,
    ADD PRIMARY KEY (suite, kind);
ALTER TABLE job_queue DROP COLUMN cases;
ALTER TABLE queue DROP COLUMN no_end;
