-- Tables of the shape that the reference has for its queue: the same columns, keys and indexes, written anew.

CREATE TABLE ref_collector (
    id                serial PRIMARY KEY,
    target            text NOT NULL,
    name              text NOT NULL UNIQUE,
    date_added        timestamptz NOT NULL DEFAULT now(),
    last_heartbeat_at timestamptz,
    benchmark_set     integer NOT NULL,
    is_active         boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX ON ref_collector (target, benchmark_set, is_active) WHERE is_active;

CREATE TABLE ref_request (
    id           serial PRIMARY KEY,
    tag          text UNIQUE,
    parent_sha   text,
    commit_type  text NOT NULL,
    pr           integer,
    created_at   timestamptz NOT NULL,
    completed_at timestamptz,
    status       text NOT NULL,
    backends     text NOT NULL DEFAULT '',
    profiles     text NOT NULL DEFAULT '',
    commit_date  timestamptz,
    duration_ms  integer,
    targets      text NOT NULL DEFAULT ''
);
CREATE INDEX ON ref_request (status) WHERE status <> 'completed';
CREATE UNIQUE INDEX ON ref_request (pr, commit_type) WHERE status <> 'completed';
CREATE INDEX ON ref_request (completed_at);

CREATE TABLE ref_job (
    id             serial PRIMARY KEY,
    request_tag    text NOT NULL REFERENCES ref_request (tag) ON DELETE CASCADE,
    target         text NOT NULL,
    backend        text NOT NULL,
    profile        text NOT NULL,
    benchmark_set  integer NOT NULL,
    collector_name text REFERENCES ref_collector (name) ON DELETE CASCADE,
    created_at     timestamptz NOT NULL DEFAULT now(),
    started_at     timestamptz,
    completed_at   timestamptz,
    status         text NOT NULL,
    retry          integer DEFAULT 0,
    kind           text NOT NULL DEFAULT 'compiletime',
    is_optional    boolean NOT NULL DEFAULT false,
    UNIQUE (request_tag, target, backend, profile, kind, benchmark_set)
);
CREATE INDEX ON ref_job (request_tag);
CREATE INDEX ON ref_job (status, target, benchmark_set);

CREATE TABLE ref_error (
    id      serial PRIMARY KEY,
    tag     text NOT NULL,
    message text NOT NULL,
    context text NOT NULL
);
CREATE INDEX ON ref_error (tag);
