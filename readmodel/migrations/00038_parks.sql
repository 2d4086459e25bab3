-- +goose Up

-- The last event that says which events no fold takes (the subject park) and that the tables obey.
ALTER TABLE projection_cursor ADD COLUMN parks bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE projection_cursor DROP COLUMN parks;
