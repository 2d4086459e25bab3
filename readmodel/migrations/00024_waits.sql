-- +goose Up

-- The times of these columns are those at which the log stored the events, in milliseconds: one clock, in the order of the log.
-- What waits and stages are made from must not depend on the clocks of the writers, which the other times are by. They are
-- NULL until it happens.
ALTER TABLE job_queue
    -- When it was made or its last need was met, whichever is later; NULL while it waits for other jobs.
    ADD COLUMN log_ready_at timestamptz,
    -- When a collector first took it.
    ADD COLUMN log_begun_at timestamptz,
    ADD COLUMN log_ended_at timestamptz,
    -- Whether a person asked for it by a wish: a rerun, a repair or a sample. Its wait is counted apart.
    ADD COLUMN wished       boolean NOT NULL DEFAULT false;
ALTER TABLE attempt
    ADD COLUMN log_started_at timestamptz,
    ADD COLUMN log_ended_at   timestamptz;
ALTER TABLE benchmark_request
    ADD COLUMN log_created_at   timestamptz,
    ADD COLUMN log_artifacts_at timestamptz,
    ADD COLUMN log_started_at   timestamptz,
    ADD COLUMN log_ended_at     timestamptz;
-- When the comment was first posted, or given up.
ALTER TABLE outbox ADD COLUMN log_settled_at timestamptz;

-- The rows of a window lie together, more or less: a small index finds them, and costs those who write next to nothing.
CREATE INDEX job_queue_ready ON job_queue USING brin (log_ready_at) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX benchmark_request_log_ended ON benchmark_request (log_ended_at) WHERE log_ended_at IS NOT NULL;

-- +goose Down
DROP INDEX benchmark_request_log_ended;
DROP INDEX job_queue_ready;
ALTER TABLE outbox DROP COLUMN log_settled_at;
ALTER TABLE benchmark_request
    DROP COLUMN log_created_at, DROP COLUMN log_artifacts_at, DROP COLUMN log_started_at, DROP COLUMN log_ended_at;
ALTER TABLE attempt DROP COLUMN log_started_at, DROP COLUMN log_ended_at;
ALTER TABLE job_queue
    DROP COLUMN log_ready_at, DROP COLUMN log_begun_at, DROP COLUMN log_ended_at, DROP COLUMN wished;
