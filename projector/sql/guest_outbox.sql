SELECT row_to_json(o) FROM outbox o WHERE key = ANY ($1)
