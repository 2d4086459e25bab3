-- +goose Up

-- What an account may do, and patterns of the branches that it may ask for. Empty for the usual rights, and for all branches.
ALTER TABLE account
    ADD COLUMN may      text[] NOT NULL DEFAULT '{}',
    ADD COLUMN branches text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE account DROP COLUMN may, DROP COLUMN branches;
