SELECT seq, subject, type, event_id, source, time, actor, cause, root, stored_at, headers, data,
       encode(chain, 'hex') AS chain, parked
FROM event
WHERE seq = $1
