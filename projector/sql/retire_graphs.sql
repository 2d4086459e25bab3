-- The graphs that ended before $1 leave with the rows of their jobs. $2 and $3 are those that the state knows: some have no
-- row yet, or an older one. This runs before the graphs of the batch are written.
WITH gone AS (
    DELETE FROM graph
    WHERE ended_at < $1::timestamptz OR (request_id, number) IN (SELECT * FROM unnest($2::text[], $3::bigint[]))
    RETURNING request_id, number
)
DELETE FROM graph_job n USING gone WHERE n.request_id = gone.request_id AND n.graph = gone.number
