SELECT {queue} FROM queue ORDER BY position
