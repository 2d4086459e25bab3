-- +goose Up

-- Who may ask, and what each may have at once. 0 is no limit.
CREATE TABLE account (
    name          text PRIMARY KEY,
    weight        bigint      NOT NULL CHECK (weight > 0),
    max_priority  text        NOT NULL CHECK (max_priority IN ('vip', 'high', 'normal', 'low', 'idle')),
    max_running   bigint      NOT NULL CHECK (max_running >= 0),
    max_queued    bigint      NOT NULL CHECK (max_queued >= 0),
    max_pending   bigint      NOT NULL CHECK (max_pending >= 0),
    max_vip       bigint      NOT NULL CHECK (max_vip >= 0),
    -- The SHA-256 of its token, and since when it has that one; empty and NULL if it has none.
    token_digest  text        NOT NULL,
    token_since   timestamptz,
    -- NULL unless it was closed. A closed account has no token.
    closed_at     timestamptz,
    closed_reason text        NOT NULL,
    -- The first and the newest event about it.
    created_at    timestamptz NOT NULL,
    changed_at    timestamptz NOT NULL,
    changed_seq   bigint      NOT NULL,
    CHECK ((token_digest = '') = (token_since IS NULL)),
    CHECK (closed_at IS NULL OR token_digest = '')
);
CREATE INDEX account_token ON account (token_digest) WHERE token_digest <> '';

-- The queues that were configured. An account's own queue has a row only if it was configured, too.
CREATE TABLE named_queue (
    name          text PRIMARY KEY,
    parent        text        NOT NULL,
    weight        bigint      NOT NULL CHECK (weight > 0),
    queue_order   text        NOT NULL CHECK (queue_order IN ('levels', 'fifo')),
    in_progress   bigint      NOT NULL CHECK (in_progress >= 0),
    max_running   bigint      NOT NULL CHECK (max_running >= 0),
    max_queued    bigint      NOT NULL CHECK (max_queued >= 0),
    max_pending   bigint      NOT NULL CHECK (max_pending >= 0),
    members       text[]      NOT NULL,
    paused        boolean     NOT NULL,
    closed_at     timestamptz,
    closed_reason text        NOT NULL,
    created_at    timestamptz NOT NULL,
    changed_at    timestamptz NOT NULL,
    changed_seq   bigint      NOT NULL
);

-- The rules of sharing, if any were set.
CREATE TABLE share_policy (
    one           boolean PRIMARY KEY CHECK (one),
    floor_default bigint      NOT NULL,
    floor_idle    bigint      NOT NULL,
    lag_ms        bigint      NOT NULL,
    set_at        timestamptz NOT NULL,
    seq           bigint      NOT NULL
);

-- What each account had in each queue and tier since the farm is shared. Machine time is in milliseconds: what jobs are
-- expected to take while they are on their lane, and what they took afterwards.
CREATE TABLE share (
    tier       text   NOT NULL CHECK (tier IN ('vip', 'default', 'idle')),
    queue      text   NOT NULL,
    account    text   NOT NULL,
    -- The places that are open, and the dispatches so far.
    running    bigint NOT NULL CHECK (running >= 0),
    dispatched bigint NOT NULL CHECK (dispatched >= running),
    charged_ms bigint NOT NULL CHECK (charged_ms >= 0),
    PRIMARY KEY (tier, queue, account)
);

-- The same by the day of the dispatch, in UTC. jobs leaves out those that never began.
CREATE TABLE usage (
    day        text   NOT NULL,
    tier       text   NOT NULL CHECK (tier IN ('vip', 'default', 'idle')),
    queue      text   NOT NULL,
    account    text   NOT NULL,
    jobs       bigint NOT NULL CHECK (jobs >= 0),
    charged_ms bigint NOT NULL CHECK (charged_ms >= 0),
    PRIMARY KEY (day, tier, queue, account)
);

ALTER TABLE benchmark_request
    -- Empty for everyone without an account, for the main queue, and for normal.
    ADD COLUMN account  text NOT NULL DEFAULT '',
    ADD COLUMN queue    text NOT NULL DEFAULT '',
    ADD COLUMN priority text NOT NULL DEFAULT '' CHECK (priority IN ('', 'vip', 'high', 'low', 'idle'));
CREATE INDEX benchmark_request_account ON benchmark_request (account, created_seq) WHERE account <> '';
CREATE INDEX benchmark_request_queue ON benchmark_request (queue, created_seq) WHERE queue <> '';
-- To whom the job is charged: tier, queue, account, expected and taken time, day, and why it was its turn. NULL if it
-- was not dispatched by shares.
ALTER TABLE job_queue ADD COLUMN share json;

-- +goose Down
ALTER TABLE job_queue DROP COLUMN share;
ALTER TABLE benchmark_request DROP COLUMN account, DROP COLUMN queue, DROP COLUMN priority;
DROP TABLE usage;
DROP TABLE share;
DROP TABLE share_policy;
DROP TABLE named_queue;
DROP TABLE account;
