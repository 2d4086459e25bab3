-- +goose Up

-- How long a job of a graph was expected to take when the graph was made, and its place in the order in which the jobs are to
-- run; NULL for those of graphs in the order of creation.
ALTER TABLE graph_job
    ADD COLUMN cost_ms bigint CHECK (cost_ms >= 0),
    ADD COLUMN rank    bigint CHECK (rank >= 0);

-- The same of the job, with the number of its graph; NULL for a job that was made in none. runs_commands: its kind runs
-- commands or builds, and measures no benchmarks.
ALTER TABLE job_queue
    ADD COLUMN graph         bigint,
    ADD COLUMN rank          bigint CHECK (rank >= 0),
    ADD COLUMN cost_ms       bigint CHECK (cost_ms >= 0),
    ADD COLUMN runs_commands boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE job_queue DROP COLUMN graph, DROP COLUMN rank, DROP COLUMN cost_ms, DROP COLUMN runs_commands;
ALTER TABLE graph_job DROP COLUMN cost_ms, DROP COLUMN rank;
