-- +goose Up

-- What a request chooses among what its definitions offer, and what it took of them when it started; NULL for definitions
-- that offer no choice.
ALTER TABLE benchmark_request
    ADD COLUMN choice   jsonb,
    ADD COLUMN template jsonb;

-- Which definitions a branch of a suite uses. Branch '' has those of all branches that have none of their own.
CREATE TABLE definition_line (
    suite    text        NOT NULL,
    branch   text        NOT NULL,
    -- Empty for none of its own.
    digest   text        NOT NULL,
    -- The commit that its file was last read from, and the name that the repository gives to the content; empty if a
    -- person published them.
    revision text        NOT NULL,
    file     text        NOT NULL,
    -- What is wrong with that file; empty if it is used.
    problems text[]      NOT NULL,
    -- Since when it uses them.
    moved_at timestamptz NOT NULL,
    -- The last event about it.
    seq      bigint      NOT NULL,
    PRIMARY KEY (suite, branch)
);

-- +goose Down
DROP TABLE definition_line;
ALTER TABLE benchmark_request DROP COLUMN choice, DROP COLUMN template;
