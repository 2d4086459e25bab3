-- +goose Up

ALTER TABLE collector_config
    -- When it got the key that it has, and when it was removed for good; NULL for one that was not.
    ADD COLUMN key_since timestamptz,
    ADD COLUMN removed_at timestamptz;
-- Keys did not change before this column came.
UPDATE collector_config SET key_since = registered_at;
ALTER TABLE collector_config
    ALTER COLUMN key_since SET NOT NULL,
    -- One that was removed is never active, and no process of it runs.
    ADD CONSTRAINT collector_config_removed CHECK (removed_at IS NULL OR NOT active AND presence <> 'online');

-- Where the work of each lane is: what a collector says of it counts only for the place and the attempt that it holds.
CREATE TABLE lane (
    target     text    NOT NULL,
    "set"      bigint  NOT NULL,
    -- The current place; 0 before the first job was begun. Places are numbers of 64 bits without a sign.
    place      numeric NOT NULL CHECK (place >= 0),
    phase      text    NOT NULL CHECK (phase IN ('', 'open', 'current', 'ended')),
    job_id     text    NOT NULL,
    collector  text    NOT NULL,
    -- The sequence of the newest JobDequeued of the place.
    token      bigint  NOT NULL,
    -- The jobs that were dispatched and have not ended there, by place.
    dispatched json    NOT NULL,
    PRIMARY KEY (target, "set"),
    CHECK ((phase = '') = (place = 0))
);

-- +goose Down
DROP TABLE lane;
ALTER TABLE collector_config
    DROP CONSTRAINT collector_config_removed,
    DROP COLUMN key_since,
    DROP COLUMN removed_at;
