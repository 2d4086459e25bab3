SELECT {graph} FROM graph WHERE request_id = $1 ORDER BY number
