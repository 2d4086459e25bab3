SELECT {definition but content}, NULL::text AS content
FROM definition
WHERE current OR NOT $1::boolean
ORDER BY seq DESC
