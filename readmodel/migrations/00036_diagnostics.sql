-- +goose Up

-- What the commands of a job had to say, each text once. token is the attempt, place counts its texts from 0.
CREATE TABLE diagnostic (
    token  bigint NOT NULL,
    place  bigint NOT NULL CHECK (place >= 0),
    job_id text   NOT NULL,
    level  text   NOT NULL,
    code   text   NOT NULL,
    text   text   NOT NULL,
    -- Equal texts have equal hashes: what differs by chance is left out.
    hash   text   NOT NULL,
    count  bigint NOT NULL CHECK (count >= 0),
    PRIMARY KEY (token, place)
);
CREATE INDEX diagnostic_job ON diagnostic (job_id);

-- How much the newest attempt of a job had to say, or which other job said it; NULL for nothing.
ALTER TABLE job_queue ADD COLUMN diagnosed json;

-- How long the parts of an attempt took; NULL if that is not known.
ALTER TABLE attempt ADD COLUMN phases json;

-- +goose Down
ALTER TABLE attempt DROP COLUMN phases;
ALTER TABLE job_queue DROP COLUMN diagnosed;
DROP TABLE diagnostic;
