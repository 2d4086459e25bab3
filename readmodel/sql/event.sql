SELECT {event}
FROM event
WHERE seq = $1
