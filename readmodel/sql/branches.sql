SELECT {definition_line}
FROM definition_line
WHERE suite = $1
ORDER BY branch
