-- +goose Up

-- How often the job measures each test case, if it was changed so; 0 for as often as the definitions say. Only samples have it.
ALTER TABLE job_queue ADD COLUMN iterations bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE job_queue DROP COLUMN iterations;
