-- Whether a view is missing, or shows other columns than its table has. Views are made together with the number of the
-- live generation, so each of them shows a table of that one.
SELECT EXISTS (
    SELECT FROM unnest($2::text[]) AS name
    WHERE (
        SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = to_regclass(format('tacho.%I', name)) AND attnum > 0 AND NOT attisdropped
    ) IS DISTINCT FROM (
        SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = to_regclass(format('%I.%I', $1::text, name)) AND attnum > 0 AND NOT attisdropped
    )
)
