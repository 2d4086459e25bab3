SELECT {outbox}
FROM outbox
WHERE key = $1
