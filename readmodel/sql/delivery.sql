SELECT {delivery}
FROM delivery
WHERE hook = $1 AND delivery = $2
