-- +goose Up

-- Why a person let the job run although its needs were not met; empty if nobody did. A later round in the same graph is forced, too.
ALTER TABLE job_queue ADD COLUMN forced text NOT NULL DEFAULT '';
-- The same of the jobs of a graph, for their later rounds.
ALTER TABLE graph_job ADD COLUMN forced text NOT NULL DEFAULT '';

-- fail-fast if the failure of a required job skips every job of the graph that has not begun. begun is set in such graphs only.
ALTER TABLE graph ADD COLUMN on_failure text NOT NULL DEFAULT '' CHECK (on_failure IN ('', 'fail-fast'));
ALTER TABLE graph_job ADD COLUMN begun boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE graph_job DROP COLUMN begun;
ALTER TABLE graph DROP COLUMN on_failure;
ALTER TABLE graph_job DROP COLUMN forced;
ALTER TABLE job_queue DROP COLUMN forced;
