SELECT data FROM event WHERE subject = $1 AND parked = '' ORDER BY seq DESC LIMIT 1
