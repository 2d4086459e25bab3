SELECT version, seq, event_id, chain, identity, queue_as_of FROM projection_cursor
