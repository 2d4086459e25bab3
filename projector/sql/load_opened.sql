-- Where the registry was opened up to an event, 0 when it was not, and the names that were copied before.
WITH opened AS (SELECT coalesce(min(seq), 0) AS seq FROM event WHERE subject = $2 AND type = $3 AND seq <= $1 AND parked = '')
SELECT opened.seq, coalesce((
    SELECT array_agg(regexp_replace(subject, '^.*[.]', '')) FROM event
    WHERE opened.seq = 0 AND type = $4 AND event.seq <= $1 AND parked = ''), '{}')
FROM opened
