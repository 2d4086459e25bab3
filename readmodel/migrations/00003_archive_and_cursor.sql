-- +goose Up

-- The archive of the log, byte for byte. It tells when the log was cut or replaced, and could restore it.
CREATE TABLE event (
    seq       bigint PRIMARY KEY,
    subject   text        NOT NULL,
    type      text        NOT NULL,
    event_id  text        NOT NULL,
    source    text        NOT NULL,
    -- NULL when the event is parked because its time cannot be read.
    time      timestamptz,
    actor     text        NOT NULL,
    cause     bigint      NOT NULL,
    root      text        NOT NULL,
    stored_at timestamptz NOT NULL,
    -- Of type json and not jsonb, which would reorder the keys and refuse some characters.
    headers   json        NOT NULL,
    data      bytea       NOT NULL,
    -- SHA-256 over the chain of the event before and this event.
    chain     bytea       NOT NULL CHECK (length(chain) = 32),
    -- Why no fold took the event: malformed data, or a fact on a subject that is not its own. Else empty.
    parked    text        NOT NULL
);
-- Reports of results are a few kilobytes. They stay in the row up to a page, and are never compressed: both
-- would cost more than all the rest of a rebuild.
ALTER TABLE event SET (toast_tuple_target = 8160);
ALTER TABLE event ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX event_subject ON event (subject, seq);
CREATE INDEX event_root ON event (root, seq);

-- How far the log has been folded: one row, moved in the transaction that writes the tables.
CREATE TABLE projection_cursor (
    one               boolean PRIMARY KEY DEFAULT true CHECK (one),
    -- The version of the folds that filled the tables.
    version           bigint NOT NULL,
    seq               bigint NOT NULL CHECK (seq >= 0),
    event_id          text   NOT NULL,
    event_time        timestamptz,
    chain             bytea  NOT NULL CHECK (length(chain) = 32),
    -- Which log it is; empty until the first event.
    identity          text   NOT NULL,
    duplicate_results bigint NOT NULL,
    stale_reports     bigint NOT NULL,
    parked_events     bigint NOT NULL,
    -- The time of the last event that could change the queue: its estimates are seen from there.
    queue_as_of       timestamptz
);

-- +goose Down
DROP TABLE projection_cursor, event;
