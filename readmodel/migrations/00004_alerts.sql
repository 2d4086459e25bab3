-- +goose Up

-- What needs, or needed, a person: the newest time of each key. Rows of alerts that are over stay until the
-- same is raised again, so that a page can say what happened lately; every earlier time is in the log.
CREATE TABLE alert (
    key            text PRIMARY KEY,
    kind           text        NOT NULL,
    about          text        NOT NULL,
    message        text        NOT NULL,
    action         text        NOT NULL,
    raised_at      timestamptz NOT NULL,
    raised_seq     bigint      NOT NULL,
    -- When it got the words that it has.
    changed_at     timestamptz NOT NULL,
    changed_seq    bigint      NOT NULL,
    -- NULL while it stands.
    cleared_at     timestamptz,
    cleared_seq    bigint,
    cleared_reason text        NOT NULL,
    CHECK ((cleared_at IS NULL) = (cleared_seq IS NULL)),
    CHECK (changed_seq >= raised_seq AND cleared_seq > changed_seq)
);
CREATE INDEX alert_standing ON alert (raised_seq) WHERE cleared_seq IS NULL;
CREATE INDEX alert_cleared ON alert (cleared_seq) WHERE cleared_seq IS NOT NULL;

-- +goose Down
DROP TABLE alert;
