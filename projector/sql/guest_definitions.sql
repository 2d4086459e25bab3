SELECT {definition}
FROM definition
WHERE (suite, digest) IN (SELECT * FROM unnest($1::text[], $2::text[]))
