SELECT DISTINCT digest
FROM definition_line
WHERE digest <> ''
ORDER BY digest
