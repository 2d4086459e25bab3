-- Hits one row, or somebody else moved the cursor: then nothing of this transaction may stay.
UPDATE projection_cursor
SET seq = $2, event_id = $3, event_time = $4, chain = $5, identity = $6, stale_reports = stale_reports + $7,
    parked_events = parked_events + $8, queue_as_of = $9
WHERE seq = $1
