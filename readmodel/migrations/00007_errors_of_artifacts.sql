-- +goose Up

-- A report tells which test cases of its artifact and of its parent failed, whichever request their jobs were made for.
CREATE INDEX error_artifact ON error (suite, tag);

-- +goose Down
DROP INDEX error_artifact;
