-- +goose Up

-- What GitHub delivered, and what came of it. The bodies are in the archive of the log alone, so that a row is
-- small however large the delivery was.
CREATE TABLE delivery (
    hook         text        NOT NULL,
    delivery     text        NOT NULL,
    -- GitHub's name of what happened.
    event        text        NOT NULL,
    size         bigint      NOT NULL,
    received_at  timestamptz NOT NULL,
    received_seq bigint      NOT NULL UNIQUE,
    -- NULL until it is handled, like handled_seq.
    handled_at   timestamptz,
    handled_seq  bigint,
    -- Empty until it is handled.
    outcome      text        NOT NULL,
    reason       text        NOT NULL,
    repo         text        NOT NULL,
    -- No pull request is NULL, and so is no comment.
    pr           bigint      CHECK (pr <> 0),
    comment      bigint      CHECK (comment <> 0),
    sender       text        NOT NULL,
    sender_id    bigint      NOT NULL,
    command      text        NOT NULL,
    requests     text[]      NOT NULL,
    PRIMARY KEY (hook, delivery),
    CHECK ((handled_at IS NULL) = (outcome = '') AND (handled_at IS NULL) = (handled_seq IS NULL)),
    CHECK (handled_seq > received_seq)
);
CREATE INDEX delivery_pr ON delivery (pr, received_seq) WHERE pr IS NOT NULL;

-- What is to stand on GitHub as a comment: the newest text of each, and how far it came.
CREATE TABLE outbox (
    key             text PRIMARY KEY,
    revision        bigint      NOT NULL,
    purpose         text        NOT NULL,
    repo            text        NOT NULL,
    pr              bigint      NOT NULL,
    request_id      text        NOT NULL,
    body            text        NOT NULL,
    temporary       boolean     NOT NULL,
    add_labels      text[]      NOT NULL,
    remove_labels   text[]      NOT NULL,
    state           text        NOT NULL CHECK (state IN ('wanted', 'postponed', 'posted', 'refused', 'minimised')),
    -- How often it was attempted to write the newest revision.
    attempts        bigint      NOT NULL,
    -- Why it is postponed or refused, or why something else about it is.
    reason          text        NOT NULL,
    -- When it is tried again; NULL when it is not.
    until           timestamptz,
    -- GitHub's number of the comment; NULL until it stands.
    comment_id      bigint,
    url             text        NOT NULL,
    -- The revisions that stand, and whose labels are set; 0 for none.
    posted_revision bigint      NOT NULL,
    labels_revision bigint      NOT NULL,
    -- When it was wanted for the first time, and when its newest text was.
    wanted_at       timestamptz NOT NULL,
    wanted_seq      bigint      NOT NULL UNIQUE,
    revised_at      timestamptz NOT NULL,
    -- When the revision that stands was written.
    posted_at       timestamptz,
    changed_seq     bigint      NOT NULL UNIQUE,
    CHECK (posted_revision <= revision AND labels_revision <= revision),
    CHECK ((comment_id IS NULL) = (posted_at IS NULL) AND (comment_id IS NULL) = (posted_revision = 0)),
    CHECK (state <> 'posted' OR posted_revision = revision),
    CHECK (state <> 'minimised' OR posted_revision > 0),
    CHECK ((until IS NOT NULL) <= (state IN ('postponed', 'posted')))
);
CREATE INDEX outbox_request ON outbox (request_id, wanted_seq) WHERE request_id <> '';
CREATE INDEX outbox_pr ON outbox (pr, wanted_seq);
CREATE INDEX outbox_waiting ON outbox (wanted_seq) WHERE state IN ('wanted', 'postponed');

-- +goose Down
DROP TABLE outbox, delivery;
