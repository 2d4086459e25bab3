-- Where tables and the structs of their rows differ, in words: a column without a field, a field without a column, or a
-- field of another type. The structs come as one line for each field; jsonb counts as json.
WITH field AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[]) AS f (name, row, col, type, nullable)
), stored AS (
    SELECT c.relname AS name, a.attname AS col, replace(format_type(a.atttypid, NULL), 'jsonb', 'json')::regtype AS type,
           NOT a.attnotnull AS nullable
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relname IN (SELECT name FROM field)
)
SELECT CASE
           WHEN f.name IS NULL THEN format('column %s of table %s has no field in %s', s.col, s.name,
               (SELECT min(row) FROM field WHERE field.name = s.name))
           WHEN s.name IS NULL THEN format('field %s of %s has no column in table %s', f.col, f.row, f.name)
           ELSE format('column %s of table %s is %s%s, and its field in %s is for %s%s', s.col, s.name, s.type,
               CASE WHEN s.nullable THEN ' or NULL' END, f.row, f.type, CASE WHEN f.nullable THEN ' or NULL' END)
       END AS difference
FROM field f FULL JOIN stored s ON s.name = f.name AND s.col = f.col
WHERE f.name IS NULL OR s.name IS NULL OR f.type::regtype <> s.type OR f.nullable <> s.nullable
ORDER BY difference
