-- Those of the graphs given by request and number that have ended.
SELECT {graph}
FROM graph
WHERE ended_at IS NOT NULL AND (request_id, number) IN (SELECT * FROM unnest($1::text[], $2::bigint[]))
