SELECT hook, delivery, event, size, received_at, received_seq, handled_at, handled_seq, outcome, reason, repo, pr, comment,
       sender, sender_id, command, requests
FROM delivery
WHERE hook = $1 AND delivery = $2
