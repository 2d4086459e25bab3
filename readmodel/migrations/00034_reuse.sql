-- +goose Up

-- What a job did and with what, if that can be taken over; the run that it took over instead of running, and the tag of that.
-- Empty for other jobs.
ALTER TABLE job_queue
    ADD COLUMN key         text NOT NULL DEFAULT '',
    ADD COLUMN reused_from text NOT NULL DEFAULT '',
    ADD COLUMN reused_tag  text NOT NULL DEFAULT '';

-- The run that measured a result which was taken over; empty for those that were measured. Those that were taken over are shown,
-- and are no evidence: histories and durations leave them out.
ALTER TABLE result ADD COLUMN reused_from text NOT NULL DEFAULT '';
CREATE INDEX result_job ON result (job_id);

-- +goose Down
DROP INDEX result_job;
DELETE FROM result WHERE reused_from <> '';
ALTER TABLE result DROP COLUMN reused_from;
ALTER TABLE job_queue DROP COLUMN key, DROP COLUMN reused_from, DROP COLUMN reused_tag;
