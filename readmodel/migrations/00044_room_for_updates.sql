-- +goose Up

-- The rows of these tables are written again and again, and no index has what changes. In a page with room, a new row takes the
-- place of old ones without touching an index, and the table stays as small as it is.
ALTER TABLE queue SET (fillfactor = 45);
ALTER TABLE lane SET (fillfactor = 45);
ALTER TABLE share SET (fillfactor = 45);
ALTER TABLE job_duration SET (fillfactor = 45);

-- +goose Down
ALTER TABLE queue RESET (fillfactor);
ALTER TABLE lane RESET (fillfactor);
ALTER TABLE share RESET (fillfactor);
ALTER TABLE job_duration RESET (fillfactor);
