-- +goose Up

-- How full the host of a machine was found by jobs that reserve more memory than was free; null if it is not full.
ALTER TABLE machine ADD COLUMN host_full jsonb;

-- +goose Down
ALTER TABLE machine DROP COLUMN host_full;
