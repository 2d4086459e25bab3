-- +goose Up

ALTER TABLE collector_config
    DROP CONSTRAINT collector_config_presence_check,
    -- "updating" from when a process left for another version until one comes.
    ADD CONSTRAINT collector_config_presence_check CHECK (presence IN ('registered', 'online', 'offline', 'updating')),
    -- Taken out for failing several jobs in a row, until a person activates it.
    ADD COLUMN quarantined boolean NOT NULL DEFAULT false;

-- Whether it executes the lane's jobs, or stands by for the one that does.
ALTER TABLE assignment ADD COLUMN serving boolean NOT NULL DEFAULT false;
-- No lane was ever taken over before this column came.
UPDATE assignment SET serving = NOT standby;
ALTER TABLE assignment ALTER COLUMN serving DROP DEFAULT;
ALTER TABLE collector_config ALTER COLUMN quarantined DROP DEFAULT;
-- At most one serves.
CREATE UNIQUE INDEX assignment_serving ON assignment (target, "set") WHERE serving;

-- +goose Down
DROP INDEX assignment_serving;
ALTER TABLE assignment DROP COLUMN serving;
UPDATE collector_config SET presence = 'offline' WHERE presence = 'updating';
ALTER TABLE collector_config
    DROP COLUMN quarantined,
    DROP CONSTRAINT collector_config_presence_check,
    ADD CONSTRAINT collector_config_presence_check CHECK (presence IN ('registered', 'online', 'offline'));
