-- A test case that is there already stays as it is. Those that were not inserted are counted as duplicates.
WITH inserted AS (
    INSERT INTO result ({result})
    SELECT {result}
    FROM {result[]} AS came
    ON CONFLICT DO NOTHING
    RETURNING 1
)
UPDATE projection_cursor
SET duplicate_results = duplicate_results + cardinality($1) - stored.n
FROM (SELECT count(*) AS n FROM inserted) AS stored
WHERE stored.n < cardinality($1)
