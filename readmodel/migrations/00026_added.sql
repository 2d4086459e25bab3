-- +goose Up

ALTER TABLE graph
    DROP CONSTRAINT graph_kind_check,
    ADD CONSTRAINT graph_kind_check CHECK (kind IN ('initial', 'backfill', 'repair', 'retrigger', 'noise', 'added', 'external')),
    -- Its jobs are not those that the definitions make: their results are never taken for evidence.
    ADD COLUMN customised boolean NOT NULL DEFAULT false;

-- +goose Down
DELETE FROM graph_job n USING graph g WHERE n.request_id = g.request_id AND n.graph = g.number AND g.kind IN ('added', 'external');
DELETE FROM graph WHERE kind IN ('added', 'external');
ALTER TABLE graph
    DROP COLUMN customised,
    DROP CONSTRAINT graph_kind_check,
    ADD CONSTRAINT graph_kind_check CHECK (kind IN ('initial', 'backfill', 'repair', 'retrigger', 'noise'));
