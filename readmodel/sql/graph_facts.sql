-- What the log says of a request since one of its graphs began.
SELECT {event} FROM event WHERE subject = $1 AND seq >= $2 AND parked = '' ORDER BY seq
