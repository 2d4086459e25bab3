INSERT INTO alert (key, kind, about, message, action, raised_at, raised_seq, changed_at, changed_seq, cleared_at, cleared_seq, cleared_reason)
SELECT key, kind, about, message, action, raised_at, raised_seq, changed_at, changed_seq, cleared_at, cleared_seq, cleared_reason
FROM json_populate_recordset(NULL::alert, $1::json)
ON CONFLICT (key) DO UPDATE SET
    (kind, about, message, action, raised_at, raised_seq, changed_at, changed_seq, cleared_at, cleared_seq, cleared_reason)
    = (excluded.kind, excluded.about, excluded.message, excluded.action, excluded.raised_at, excluded.raised_seq,
    excluded.changed_at, excluded.changed_seq, excluded.cleared_at, excluded.cleared_seq, excluded.cleared_reason)
