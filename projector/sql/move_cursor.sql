-- Must hit one row. If another projector moved the cursor, it hits none: the division by zero ends the transaction, and
-- nothing of it is stored. Those who listen to the channel $11, if it is not empty, hear of the new place at the commit.
WITH moved AS (
    UPDATE projection_cursor
    SET seq = $2, event_id = $3, event_time = $4, chain = $5, identity = $6, stale_reports = stale_reports + $7,
        parked_events = parked_events + $8, queue_as_of = $9, parks = $10
    WHERE seq = $1
    RETURNING CASE WHEN $11 <> '' THEN pg_notify($11, seq::text) END
)
SELECT 1 / count(*) FROM moved
