SELECT version, seq, event_id, event_time, encode(chain, 'hex') AS chain, identity,
       duplicate_results, stale_reports, parked_events
FROM projection_cursor
