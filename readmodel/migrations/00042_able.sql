-- +goose Up

-- Whether the newest process of a collector can build, and use what others built.
ALTER TABLE collector_config ADD COLUMN builds boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE collector_config DROP COLUMN builds;
