SELECT {outbox} FROM outbox WHERE key = ANY ($1)
