-- One more than the highest generation that exists: the live one, or one that a killed rebuild left behind.
SELECT 1 + max(number)
FROM (
    SELECT number FROM tacho.generation
    UNION ALL
    SELECT substring(nspname FROM '^tacho_g([0-9]{1,9})$')::bigint FROM pg_namespace WHERE nspname ~ '^tacho_g[0-9]{1,9}$'
) AS generations (number);
