-- +goose Up

-- Test cases of an artifact that were measured in turns with those of another one on one machine: iteration i of both sides is
-- pair i. Each side is a result of its artifact as well, unless that had one.
CREATE TABLE block (
    suite               text        NOT NULL,
    tag                 text        NOT NULL,
    -- The other artifact, that of the parent. It is measured first in pairs 0, 3, 4, 7, 8 and so on.
    beside              text        NOT NULL,
    benchmark           text        NOT NULL,
    profile             text        NOT NULL,
    scenario            text        NOT NULL,
    backend             text        NOT NULL,
    target              text        NOT NULL,
    environment         text        NOT NULL,
    -- Metric to its values, one for each iteration in the order they were taken, and what disturbed them, as of a result.
    statistics          json        NOT NULL,
    iterations          bigint      NOT NULL,
    interference        json,
    beside_statistics   json        NOT NULL,
    beside_iterations   bigint      NOT NULL,
    beside_interference json,
    collector           text        NOT NULL,
    job_id              text        NOT NULL,
    definitions         text        NOT NULL,
    measured_at         timestamptz NOT NULL,
    seq                 bigint      NOT NULL,
    -- Of two blocks the first one stays.
    PRIMARY KEY (suite, tag, beside, benchmark, profile, scenario, backend, target, environment)
);

-- +goose Down
DROP TABLE block;
