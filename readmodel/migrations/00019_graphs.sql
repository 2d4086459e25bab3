-- +goose Up

-- The graphs of requests: jobs that need one another.
CREATE TABLE graph (
    request_id  text        NOT NULL,
    number      bigint      NOT NULL CHECK (number >= 0),
    kind        text        NOT NULL CHECK (kind IN ('initial', 'backfill', 'repair')),
    -- The key of the wish that asked for it; empty for others.
    key         text        NOT NULL,
    -- How many jobs and needs it has. It is sealed once all of them are named; left_needs are not named yet.
    jobs        bigint      NOT NULL CHECK (jobs > 0),
    needs       bigint      NOT NULL CHECK (needs >= 0),
    sealed      boolean     NOT NULL,
    left_needs  bigint      NOT NULL CHECK (left_needs BETWEEN 0 AND needs),
    -- Empty while it is open; cancelled if its request was. failed and skipped count jobs at the end.
    outcome     text        NOT NULL CHECK (outcome IN ('', 'success', 'failure', 'cancelled')),
    failed      bigint      NOT NULL,
    skipped     bigint      NOT NULL,
    created_at  timestamptz NOT NULL,
    created_seq bigint      NOT NULL,
    ended_at    timestamptz,
    PRIMARY KEY (request_id, number),
    CHECK ((outcome = '') = (ended_at IS NULL)),
    CHECK (NOT sealed OR left_needs = 0)
);
CREATE INDEX graph_open ON graph (request_id, number) WHERE ended_at IS NULL;
CREATE INDEX graph_ended ON graph (ended_at) WHERE ended_at IS NOT NULL;

-- The jobs of graphs, with what they need. The states of open graphs follow from the ends of jobs; those of closed graphs
-- stand as they were.
CREATE TABLE graph_job (
    request_id text    NOT NULL,
    graph      bigint  NOT NULL,
    -- Counts the jobs of the graph from 0.
    number     bigint  NOT NULL CHECK (number >= 0),
    -- Its newest round; empty while it is not named, which is so for a part of one append only.
    job_id     text    NOT NULL,
    optional   boolean NOT NULL,
    state      text    NOT NULL CHECK (state IN ('blocked', 'ready', 'skipped', 'success', 'failure', 'cancelled')),
    -- The number of the job that failed.
    skipped_by bigint  CHECK (skipped_by IS NULL OR state = 'skipped'),
    -- A list of the numbers of the jobs that it needs, until when, and whether that is met.
    needs      json    NOT NULL,
    PRIMARY KEY (request_id, graph, number)
);
CREATE INDEX graph_job_job ON graph_job (job_id);

-- Held is blocked or skipped, for a job that was made in a graph, waits, has no place, and is in open graphs of which none
-- has it ready; else empty.
ALTER TABLE job_queue
    ADD COLUMN graphed boolean NOT NULL DEFAULT false,
    ADD COLUMN held text NOT NULL DEFAULT '' CHECK (held IN ('', 'blocked', 'skipped')),
    ADD CHECK (held = '' OR state = 'queued' AND place = 0);

-- +goose Down
ALTER TABLE job_queue DROP COLUMN held, DROP COLUMN graphed;
DROP TABLE graph_job;
DROP TABLE graph;
