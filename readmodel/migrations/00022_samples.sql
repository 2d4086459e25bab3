-- +goose Up

-- A sample is one more measurement of an artifact, beside the base series. It is named by the request, the graph and the copy
-- that it belongs to. The empty name is the base series.
ALTER TABLE job_queue
    ADD COLUMN sample   text NOT NULL DEFAULT '',
    -- At which priority a sample waits; empty for normal, and for jobs of the base series: these have that of their request.
    ADD COLUMN priority text NOT NULL DEFAULT '' CHECK (priority IN ('', 'vip', 'high', 'low', 'idle')),
    ADD CHECK (sample <> '' OR priority = '');
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, matched, requires, against, sample, round);

ALTER TABLE retired_job ADD COLUMN sample text NOT NULL DEFAULT '';
ALTER TABLE error ADD COLUMN sample text NOT NULL DEFAULT '';

-- Results of samples stand beside those of the base series. Nothing that judges reads them, but for the noise that they show.
ALTER TABLE result ADD COLUMN sample text NOT NULL DEFAULT '';
ALTER TABLE result DROP CONSTRAINT result_pkey;
ALTER TABLE result ADD PRIMARY KEY (suite, tag, benchmark, profile, scenario, backend, target, env, sample);
CREATE INDEX result_sample ON result (sample) WHERE sample <> '';

ALTER TABLE graph
    DROP CONSTRAINT graph_kind_check,
    ADD CONSTRAINT graph_kind_check CHECK (kind IN ('initial', 'backfill', 'repair', 'retrigger', 'noise')),
    -- The priority that was asked for its samples; empty for that of its request, and if its jobs are no samples.
    ADD COLUMN priority      text   NOT NULL DEFAULT '',
    -- How many samples it takes of each job; 0 if its jobs are no samples.
    ADD COLUMN copies        bigint NOT NULL DEFAULT 0,
    -- When it was withdrawn, and why; NULL if it was not.
    ADD COLUMN cancelled_at  timestamptz,
    ADD COLUMN cancel_reason text   NOT NULL DEFAULT '';

-- What the noise graphs that have ended found, for each metric of each test case on each machine. These rows outlive the
-- graphs.
CREATE TABLE noise (
    suite       text             NOT NULL,
    environment text             NOT NULL,
    benchmark   text             NOT NULL,
    profile     text             NOT NULL,
    scenario    text             NOT NULL,
    backend     text             NOT NULL,
    target      text             NOT NULL,
    metric      text             NOT NULL,
    -- The artifact that was measured, and the graph.
    tag         text             NOT NULL,
    request_id  text             NOT NULL,
    graph       bigint           NOT NULL,
    -- How many samples there are, the smallest and the largest of their minima, and the relative distance of these two.
    samples     bigint           NOT NULL CHECK (samples > 1),
    smallest    double precision NOT NULL CHECK (smallest > 0),
    largest     double precision NOT NULL CHECK (largest >= smallest),
    spread      double precision NOT NULL CHECK (spread >= 0),
    ended_at    timestamptz      NOT NULL,
    PRIMARY KEY (suite, environment, benchmark, profile, scenario, backend, target, metric, tag, request_id, graph)
);

-- +goose Down
DROP TABLE noise;
DELETE FROM graph_job n USING graph g WHERE n.request_id = g.request_id AND n.graph = g.number AND g.kind IN ('retrigger', 'noise');
DELETE FROM graph WHERE kind IN ('retrigger', 'noise');
ALTER TABLE graph
    DROP COLUMN priority, DROP COLUMN copies, DROP COLUMN cancelled_at, DROP COLUMN cancel_reason,
    DROP CONSTRAINT graph_kind_check,
    ADD CONSTRAINT graph_kind_check CHECK (kind IN ('initial', 'backfill', 'repair'));
DELETE FROM result WHERE sample <> '';
DROP INDEX result_sample;
ALTER TABLE result DROP CONSTRAINT result_pkey;
ALTER TABLE result ADD PRIMARY KEY (suite, tag, benchmark, profile, scenario, backend, target, env);
ALTER TABLE result DROP COLUMN sample;
ALTER TABLE error DROP COLUMN sample;
ALTER TABLE retired_job DROP COLUMN sample;
DELETE FROM job_queue WHERE sample <> '';
ALTER TABLE job_queue DROP CONSTRAINT job_identity;
ALTER TABLE job_queue DROP COLUMN sample, DROP COLUMN priority;
ALTER TABLE job_queue ADD CONSTRAINT job_identity
    UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks, measures, matched, requires, against, round);
