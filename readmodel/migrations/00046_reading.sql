-- +goose Up

-- Lists of requests are read newest first, by one filter or several. Without an index for a filter that few requests pass, a
-- read goes through all that ever were.
CREATE INDEX benchmark_request_state ON benchmark_request (state, created_seq);
CREATE INDEX benchmark_request_kind ON benchmark_request (kind, created_seq);
CREATE INDEX benchmark_request_pr ON benchmark_request (pr, created_seq) WHERE pr IS NOT NULL;
CREATE INDEX benchmark_request_priority ON benchmark_request (priority, created_seq) WHERE priority <> '';
-- What waits in other queues than the main one, in the order of the pages.
CREATE INDEX benchmark_request_elsewhere ON benchmark_request (queue, (state <> 'in_progress'),
        array_position(ARRAY['vip', 'high', '', 'low', 'idle'], priority), created_seq)
    WHERE state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress') AND queue <> '';

-- Jobs that ended otherwise than well are few.
CREATE INDEX job_queue_unsuccessful ON job_queue (state, created_seq, ordinal) WHERE state IN ('failure', 'cancelled');

CREATE INDEX delivery_waiting ON delivery (received_seq) WHERE handled_seq IS NULL;
CREATE INDEX delivery_outcome ON delivery (outcome, received_seq);
DROP INDEX outbox_waiting;
CREATE INDEX outbox_state ON outbox (state, wanted_seq);

-- +goose Down
DROP INDEX outbox_state;
CREATE INDEX outbox_waiting ON outbox (wanted_seq) WHERE state IN ('wanted', 'postponed');
DROP INDEX delivery_outcome;
DROP INDEX delivery_waiting;
DROP INDEX job_queue_unsuccessful;
DROP INDEX benchmark_request_elsewhere;
DROP INDEX benchmark_request_priority;
DROP INDEX benchmark_request_pr;
DROP INDEX benchmark_request_kind;
DROP INDEX benchmark_request_state;
