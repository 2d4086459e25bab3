-- +goose Up

-- Why a person let the job run although its needs were not met; empty if nobody did. A later round in the same graph is forced, too.
ALTER TABLE job_queue ADD COLUMN forced text NOT NULL DEFAULT '';
-- The same of the jobs of a graph, for their later rounds.
ALTER TABLE graph_job ADD COLUMN forced text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE graph_job DROP COLUMN forced;
ALTER TABLE job_queue DROP COLUMN forced;
