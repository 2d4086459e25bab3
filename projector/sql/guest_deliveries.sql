SELECT row_to_json(d)
FROM delivery d
WHERE (hook, delivery) IN (SELECT hook, delivery FROM unnest($1::text[], $2::text[]) AS n (hook, delivery))
