SELECT request_id FROM queue ORDER BY position LIMIT $1
