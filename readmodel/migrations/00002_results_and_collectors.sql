-- +goose Up

CREATE TABLE result (
    suite        text        NOT NULL,
    tag          text        NOT NULL,
    benchmark    text        NOT NULL,
    profile      text        NOT NULL,
    scenario     text        NOT NULL,
    backend      text        NOT NULL,
    target       text        NOT NULL,
    -- Metric to its values, one for each iteration in the order they were taken; null where an iteration
    -- has no such value. Of type json: taking jsonb apart would double the cost of a row.
    statistics   json        NOT NULL,
    iterations   bigint      NOT NULL,
    -- One text for each iteration that is suspect, keyed by its index; NULL when all are clean.
    interference json,
    collector    text        NOT NULL,
    environment  text        NOT NULL,
    token        bigint      NOT NULL,
    attempt      bigint      NOT NULL,
    job_id       text        NOT NULL,
    request_id   text        NOT NULL,
    definitions  text        NOT NULL,
    measured_at  timestamptz NOT NULL,
    seq          bigint      NOT NULL,
    -- A test case of an artifact is stored once, and never replaced.
    PRIMARY KEY (suite, tag, benchmark, profile, scenario, backend, target)
);

CREATE TABLE error (
    seq        bigint PRIMARY KEY,
    job_id     text        NOT NULL,
    request_id text        NOT NULL,
    suite      text        NOT NULL,
    tag        text        NOT NULL,
    collector  text        NOT NULL,
    token      bigint      NOT NULL,
    attempt    bigint      NOT NULL,
    kind       text        NOT NULL,
    context    text        NOT NULL,
    -- The test case that it concerns; NULL when it concerns the whole job.
    test_case  jsonb,
    message    text        NOT NULL,
    -- Reported by an attempt that was no longer the current one of its lane.
    stale      boolean     NOT NULL,
    time       timestamptz NOT NULL
);
CREATE INDEX error_job ON error (job_id);
CREATE INDEX error_request ON error (request_id);

CREATE TABLE collector_config (
    name               text PRIMARY KEY,
    target             text        NOT NULL,
    "set"              bigint      NOT NULL,
    standby            boolean     NOT NULL,
    nkey               text        NOT NULL,
    active             boolean     NOT NULL,
    -- Whether a process of the collector is known to run; "registered" until the first one came.
    presence           text        NOT NULL CHECK (presence IN ('registered', 'online', 'offline')),
    draining           boolean     NOT NULL,
    reason             text        NOT NULL,
    instance           text        NOT NULL,
    version            text        NOT NULL,
    pid                bigint      NOT NULL,
    environment        jsonb,
    registered_at      timestamptz NOT NULL,
    online_at          timestamptz,
    offline_at         timestamptz,
    -- The newest event about the collector itself.
    last_event_seq     bigint      NOT NULL,
    last_event_type    text        NOT NULL,
    last_event_at      timestamptz NOT NULL
);

CREATE TABLE assignment (
    target      text        NOT NULL,
    "set"       bigint      NOT NULL,
    name        text        NOT NULL,
    standby     boolean     NOT NULL,
    assigned_at timestamptz NOT NULL,
    seq         bigint      NOT NULL,
    PRIMARY KEY (target, "set", name)
);

CREATE TABLE definition (
    suite        text        NOT NULL,
    digest       text        NOT NULL,
    -- The canonical JSON that the digest names, byte for byte.
    content      text        NOT NULL,
    current      boolean     NOT NULL,
    published_at timestamptz NOT NULL,
    seq          bigint      NOT NULL,
    PRIMARY KEY (suite, digest)
);
CREATE UNIQUE INDEX definition_current ON definition (suite) WHERE current;

-- +goose Down
DROP TABLE definition, assignment, collector_config, error, result;
