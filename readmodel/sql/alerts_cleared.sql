SELECT {alert}
FROM alert
WHERE cleared_seq IS NOT NULL
ORDER BY cleared_seq DESC
LIMIT $1
