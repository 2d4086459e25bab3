-- The event that opened the registry, up to the event $1; 0 if there is none. If it is 0, also the names that were copied
-- by then.
WITH opened AS (SELECT coalesce(min(seq), 0) AS seq FROM event WHERE subject = $2 AND type = $3 AND seq <= $1 AND parked = '')
SELECT opened.seq, coalesce((
    SELECT array_agg(regexp_replace(subject, '^.*[.]', '')) FROM event
    WHERE opened.seq = 0 AND type = $4 AND event.seq <= $1 AND parked = ''), '{}')
FROM opened
