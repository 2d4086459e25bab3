-- +goose Up

-- The tables are folds of the log and nothing else: whatever stands here can be rebuilt by `tacho replay`.
-- Numbers that come out of events are bigint and texts are unbounded, because an event that is in the log
-- must always find its place; what an invariant forbids, the folds refuse before the row is written.

CREATE TABLE benchmark_request (
    request_id         text PRIMARY KEY,
    kind               text        NOT NULL CHECK (kind IN ('master', 'try', 'release')),
    suite              text        NOT NULL,
    -- Empty while a try request waits for its artifact.
    tag                text        NOT NULL,
    parent_tag         text        NOT NULL,
    -- No pull request is NULL; pull request 0 does not exist.
    pr                 bigint      CHECK (pr <> 0),
    released_on        text        NOT NULL,
    key                text        NOT NULL,
    parameters         jsonb       NOT NULL,
    state              text        NOT NULL CHECK (state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress',
                                       'completed', 'failed', 'cancelled', 'expired', 'superseded')),
    reason             text        NOT NULL DEFAULT '',
    created_by         text        NOT NULL,
    created_at         timestamptz NOT NULL,
    created_seq        bigint      NOT NULL UNIQUE,
    artifacts_ready_at timestamptz,
    started_at         timestamptz,
    started_seq        bigint      UNIQUE,
    ended_at           timestamptz,
    ended_seq          bigint      UNIQUE,
    definitions        text        NOT NULL DEFAULT '',
    jobs               bigint      NOT NULL DEFAULT 0,
    backfill_jobs      bigint      NOT NULL DEFAULT 0,
    failed_jobs        bigint      NOT NULL DEFAULT 0,
    expansion_failures bigint      NOT NULL DEFAULT 0,
    superseded_by      text        NOT NULL DEFAULT '',
    CHECK ((ended_at IS NULL) = (state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress'))),
    CHECK (state <> 'in_progress' OR started_at IS NOT NULL)
);
CREATE INDEX benchmark_request_artifact ON benchmark_request (suite, tag);
CREATE INDEX benchmark_request_ended ON benchmark_request (ended_seq) WHERE ended_seq IS NOT NULL;
CREATE INDEX benchmark_request_open ON benchmark_request (request_id)
    WHERE state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress');

CREATE TABLE job_queue (
    job_id        text PRIMARY KEY,
    request_id    text        NOT NULL,
    suite         text        NOT NULL,
    tag           text        NOT NULL,
    artifact_kind text        NOT NULL,
    kind          text        NOT NULL,
    target        text        NOT NULL,
    "set"         bigint      NOT NULL,
    backend       text        NOT NULL,
    profile       text        NOT NULL,
    benchmarks    text[]      NOT NULL,
    optional      boolean     NOT NULL,
    backfill      boolean     NOT NULL,
    definitions   text        NOT NULL,
    state         text        NOT NULL CHECK (state IN ('queued', 'in_progress', 'success', 'failure', 'cancelled')),
    reason        text        NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL,
    created_seq   bigint      NOT NULL,
    -- The place of the job among those that one event created.
    ordinal       bigint      NOT NULL,
    dispatched_at timestamptz,
    -- Counts the dispatches of the lane; 0 until the job is dispatched.
    place         bigint      NOT NULL DEFAULT 0,
    -- When the newest attempt began, by whom, and its token.
    dequeued_at   timestamptz,
    collector     text        NOT NULL DEFAULT '',
    token         bigint      NOT NULL DEFAULT 0,
    attempts      bigint      NOT NULL DEFAULT 0,
    lost          bigint      NOT NULL DEFAULT 0,
    finished_at   timestamptz,
    finished_seq  bigint,
    -- Test cases; of a running job those that its current attempt has reported so far.
    measured      bigint      NOT NULL DEFAULT 0,
    skipped       bigint      NOT NULL DEFAULT 0,
    failed        bigint      NOT NULL DEFAULT 0,
    duration_ms   bigint      NOT NULL DEFAULT 0,
    -- The identity of a job: the same job is never made twice.
    CONSTRAINT job_identity UNIQUE (suite, tag, kind, target, "set", backend, profile, benchmarks),
    CONSTRAINT job_place UNIQUE (created_seq, ordinal),
    CHECK ((finished_at IS NULL) = (state IN ('queued', 'in_progress'))),
    CHECK (state <> 'in_progress' OR (token > 0 AND dequeued_at IS NOT NULL))
);
CREATE INDEX job_queue_request ON job_queue (request_id);
CREATE INDEX job_queue_open ON job_queue (job_id) WHERE state IN ('queued', 'in_progress');

CREATE TABLE attempt (
    -- The sequence of the JobDequeued event.
    token       bigint PRIMARY KEY,
    job_id      text        NOT NULL,
    request_id  text        NOT NULL,
    target      text        NOT NULL,
    "set"       bigint      NOT NULL,
    collector   text        NOT NULL,
    instance    text        NOT NULL,
    attempt     bigint      NOT NULL,
    lost        bigint      NOT NULL,
    version     text        NOT NULL,
    environment text        NOT NULL,
    state       text        NOT NULL CHECK (state IN ('running', 'finished', 'lost', 'released')),
    outcome     text        NOT NULL DEFAULT '' CHECK (outcome IN ('', 'success', 'failure', 'cancelled')),
    reason      text        NOT NULL DEFAULT '',
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    measured    bigint      NOT NULL DEFAULT 0,
    skipped     bigint      NOT NULL DEFAULT 0,
    failed      bigint      NOT NULL DEFAULT 0,
    duration_ms bigint      NOT NULL DEFAULT 0,
    CHECK ((ended_at IS NULL) = (state = 'running'))
);
-- A lane has at most one current attempt.
CREATE UNIQUE INDEX attempt_current ON attempt (target, "set") WHERE state = 'running';
CREATE INDEX attempt_job ON attempt (job_id);
CREATE INDEX attempt_collector ON attempt (collector, token);

CREATE TABLE queue (
    position        bigint PRIMARY KEY CHECK (position >= 1),
    request_id      text    NOT NULL,
    level           bigint  NOT NULL,
    reason          text    NOT NULL CHECK (reason <> ''),
    startable       boolean NOT NULL,
    estimated_start timestamptz,
    estimated_end   timestamptz,
    -- Positions move in one statement, in which two rows may hold one request for a moment.
    CONSTRAINT queue_request UNIQUE (request_id) DEFERRABLE INITIALLY DEFERRED
);

-- +goose Down
DROP TABLE queue, attempt, job_queue, benchmark_request;
