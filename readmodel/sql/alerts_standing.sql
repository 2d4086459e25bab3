SELECT key, kind, about, message, action, raised_at, raised_seq, changed_at, changed_seq, cleared_at, cleared_seq, cleared_reason
FROM alert
WHERE cleared_seq IS NULL
ORDER BY raised_seq
