-- +goose Up

-- The definitions that a request names, whatever its branch uses; empty for those of its branch. customised: the branch had
-- never used them. definitions_problem: why those of the commit itself could not be used. together: the set of requests that
-- it is in; empty for none.
ALTER TABLE benchmark_request
    ADD COLUMN named               text    NOT NULL DEFAULT '',
    ADD COLUMN customised          boolean NOT NULL DEFAULT false CHECK (named <> '' OR NOT customised),
    ADD COLUMN definitions_problem text    NOT NULL DEFAULT '',
    ADD COLUMN together            text    NOT NULL DEFAULT '';
CREATE INDEX benchmark_request_together ON benchmark_request (together, created_seq) WHERE together <> '';

-- Whether definitions were published for requests that name them, and for no branch.
ALTER TABLE definition ADD COLUMN aside boolean NOT NULL DEFAULT false;

-- +goose Down
DROP INDEX benchmark_request_together;
ALTER TABLE benchmark_request DROP COLUMN named, DROP COLUMN customised, DROP COLUMN definitions_problem, DROP COLUMN together;
ALTER TABLE definition DROP COLUMN aside;
