SELECT identity, seq, event_id, chain
FROM projection_cursor
