SELECT {event}
FROM event
WHERE seq > $1 AND seq <= $2
ORDER BY seq
