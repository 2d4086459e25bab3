SELECT {definition but content}, NULL::text AS content
FROM definition
WHERE current
ORDER BY seq DESC
