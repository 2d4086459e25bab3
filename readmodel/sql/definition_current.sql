SELECT {definition}
FROM definition
WHERE suite = $1 AND current
