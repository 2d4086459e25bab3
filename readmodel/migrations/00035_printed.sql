-- +goose Up

-- How much output an attempt made (bytes, dropped, last); NULL where its end does not tell.
ALTER TABLE attempt ADD COLUMN printed jsonb;

-- +goose Down
ALTER TABLE attempt DROP COLUMN printed;
