-- +goose Up

-- The machines that take matched jobs, with what they offer.
CREATE TABLE machine (
    name           text PRIMARY KEY,
    pool           text        NOT NULL,
    os             text        NOT NULL,
    arch           text        NOT NULL,
    -- What its jobs may have together: what is stated, or else what its host has; 0 while that is not known.
    memory_mib     bigint      NOT NULL CHECK (memory_mib >= 0),
    cpus           bigint      NOT NULL CHECK (cpus >= 0),
    -- What the first of its collectors found on the host; 0 before.
    host_memory_mib bigint NOT NULL CHECK (host_memory_mib >= 0),
    host_cpus      bigint      NOT NULL CHECK (host_cpus >= 0),
    devices        jsonb       NOT NULL,
    traits         text[]      NOT NULL,
    -- Traits of which a job must require one; empty for all jobs.
    only_traits    text[]      NOT NULL,
    -- Kinds of request; empty for all.
    accepts        text[]      NOT NULL,
    slots          bigint      NOT NULL CHECK (slots > 0),
    -- NULL unless it was removed.
    removed_at     timestamptz,
    removed_reason text        NOT NULL,
    -- The first and the newest event about it.
    created_at     timestamptz NOT NULL,
    changed_at     timestamptz NOT NULL,
    changed_seq    bigint      NOT NULL
);

-- The machine that a collector is a slot of; empty for none.
ALTER TABLE collector_config ADD COLUMN machine text NOT NULL DEFAULT '';
CREATE INDEX collector_config_machine ON collector_config (machine) WHERE machine <> '';

-- Terms that the machines of its matched jobs must meet.
ALTER TABLE benchmark_request ADD COLUMN requires text[] NOT NULL DEFAULT '{}';
ALTER TABLE named_queue ADD COLUMN requires text[] NOT NULL DEFAULT '{}';

ALTER TABLE job_queue
    -- Whether it runs on any machine that meets its terms.
    ADD COLUMN matched     boolean NOT NULL DEFAULT false,
    ADD COLUMN requires    text[]  NOT NULL DEFAULT '{}',
    -- The artifact of the parent that it measures on the same machine; empty for none.
    ADD COLUMN against     text    NOT NULL DEFAULT '',
    -- The lane that a matched job is bound to, or was last; NULL while it waits for a machine. The others have the lane
    -- of their target and set.
    ADD COLUMN lane_target text,
    ADD COLUMN lane_set    bigint,
    ADD CHECK ((lane_target IS NULL) = (lane_set IS NULL)),
    ADD CHECK (matched OR lane_target IS NULL);
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, matched, requires, against, round);

-- Results of matched jobs are kept for each machine: env is the fingerprint of the one that measured. It is empty for the
-- others, which have one result for each test case.
ALTER TABLE result ADD COLUMN env text NOT NULL DEFAULT '';
ALTER TABLE result DROP CONSTRAINT result_pkey;
ALTER TABLE result ADD PRIMARY KEY (suite, tag, benchmark, profile, scenario, backend, target, env);

-- +goose Down
DELETE FROM result WHERE env <> '';
ALTER TABLE result DROP CONSTRAINT result_pkey;
ALTER TABLE result ADD PRIMARY KEY (suite, tag, benchmark, profile, scenario, backend, target);
ALTER TABLE result DROP COLUMN env;
DELETE FROM job_queue WHERE matched;
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue DROP COLUMN matched, DROP COLUMN requires, DROP COLUMN against, DROP COLUMN lane_target, DROP COLUMN lane_set;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, round);
ALTER TABLE named_queue DROP COLUMN requires;
ALTER TABLE benchmark_request DROP COLUMN requires;
ALTER TABLE collector_config DROP COLUMN machine;
DROP TABLE machine;
