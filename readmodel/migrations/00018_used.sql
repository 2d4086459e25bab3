-- +goose Up

-- What the commands of a matched job used in its last attempt; 0 where that is not known, and for the other jobs.
ALTER TABLE job_queue
    ADD COLUMN peak_memory_bytes bigint NOT NULL DEFAULT 0 CHECK (peak_memory_bytes >= 0),
    ADD COLUMN cpu_ms            bigint NOT NULL DEFAULT 0 CHECK (cpu_ms >= 0);

-- What the last matched jobs of each sort used, oldest first. Like job_duration it outlives the jobs.
CREATE TABLE job_use (
    suite   text   NOT NULL,
    target  text   NOT NULL,
    "set"   bigint NOT NULL,
    kind    text   NOT NULL,
    backend text   NOT NULL,
    profile text   NOT NULL,
    uses    jsonb  NOT NULL CHECK (jsonb_array_length(uses) BETWEEN 1 AND 10),
    PRIMARY KEY (suite, target, "set", kind, backend, profile)
);

-- +goose Down
DROP TABLE job_use;
ALTER TABLE job_queue DROP COLUMN peak_memory_bytes, DROP COLUMN cpu_ms;
