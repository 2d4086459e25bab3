SELECT {delivery}
FROM delivery
WHERE (hook, delivery) IN (SELECT hook, delivery FROM unnest($1::text[], $2::text[]) AS n (hook, delivery))
