-- +goose Up

-- Why a person let the job run although its needs were not met; empty if it was not forced. A later round in the same graph is forced, too.
ALTER TABLE job_queue ADD COLUMN forced text NOT NULL DEFAULT '';
-- The same of the jobs of a graph, for their later rounds.
ALTER TABLE graph_job ADD COLUMN forced text NOT NULL DEFAULT '';

-- fail-fast if the failure of a required job skips every job of the graph that has not begun. begun is set in such graphs only.
ALTER TABLE graph ADD COLUMN on_failure text NOT NULL DEFAULT '' CHECK (on_failure IN ('', 'fail-fast'));
ALTER TABLE graph_job ADD COLUMN begun boolean NOT NULL DEFAULT false;

-- By when its jobs should have ended; NULL for no time. expired is the outcome of a graph that was withdrawn for that.
ALTER TABLE graph
    ADD COLUMN deadline timestamptz,
    DROP CONSTRAINT graph_outcome_check,
    ADD CONSTRAINT graph_outcome_check CHECK (outcome IN ('', 'success', 'failure', 'cancelled', 'expired'));

-- +goose Down
UPDATE graph SET outcome = 'cancelled' WHERE outcome = 'expired';
ALTER TABLE graph
    DROP COLUMN deadline,
    DROP CONSTRAINT graph_outcome_check,
    ADD CONSTRAINT graph_outcome_check CHECK (outcome IN ('', 'success', 'failure', 'cancelled'));
ALTER TABLE graph_job DROP COLUMN begun;
ALTER TABLE graph DROP COLUMN on_failure;
ALTER TABLE graph_job DROP COLUMN forced;
ALTER TABLE job_queue DROP COLUMN forced;
