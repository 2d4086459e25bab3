-- +goose Up

ALTER TABLE collector_config
    -- Why its process left, or did not update, as that or the scheduler said. The column reason is why it is removed,
    -- inactive, quarantined or draining, whether a process of it runs or not.
    ADD COLUMN presence_reason text NOT NULL DEFAULT '';
UPDATE collector_config SET presence_reason = reason, reason = ''
WHERE removed_at IS NULL AND active AND NOT quarantined AND NOT draining;
ALTER TABLE collector_config ALTER COLUMN presence_reason DROP DEFAULT;

-- +goose Down
UPDATE collector_config SET reason = presence_reason
WHERE removed_at IS NULL AND active AND NOT quarantined AND NOT draining;
ALTER TABLE collector_config DROP COLUMN presence_reason;
