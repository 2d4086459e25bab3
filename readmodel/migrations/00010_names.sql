-- +goose Up

-- People name a request by its id, its tag or its key.
CREATE INDEX benchmark_request_tag ON benchmark_request (tag);
CREATE INDEX benchmark_request_key ON benchmark_request (key);

-- +goose Down
DROP INDEX benchmark_request_tag;
DROP INDEX benchmark_request_key;
