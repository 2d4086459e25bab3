INSERT INTO delivery (hook, delivery, event, size, received_at, received_seq, handled_at, handled_seq, outcome, reason, repo, pr,
    comment, sender, sender_id, command, requests)
SELECT hook, delivery, event, size, received_at, received_seq, handled_at, handled_seq, outcome, reason, repo, pr,
       comment, sender, sender_id, command, requests
FROM json_populate_recordset(NULL::delivery, $1::json)
ON CONFLICT (hook, delivery) DO UPDATE SET
    (handled_at, handled_seq, outcome, reason, repo, pr, comment, sender, sender_id, command, requests)
    = (excluded.handled_at, excluded.handled_seq, excluded.outcome, excluded.reason, excluded.repo, excluded.pr,
    excluded.comment, excluded.sender, excluded.sender_id, excluded.command, excluded.requests)
