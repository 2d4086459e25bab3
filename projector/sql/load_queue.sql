SELECT row_to_json(q) FROM queue q ORDER BY position
