INSERT INTO projection_cursor (version, seq, event_id, chain, identity, duplicate_results, stale_reports, parked_events)
VALUES ($1, 0, '', $2, '', 0, 0, 0)
ON CONFLICT DO NOTHING
