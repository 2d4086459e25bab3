SELECT {definition}
FROM definition
WHERE digest = $1
ORDER BY seq
LIMIT 1
