INSERT INTO outbox (key, revision, purpose, repo, pr, request_id, body, temporary, add_labels, remove_labels, state, attempts, reason,
    until, comment_id, url, posted_revision, labels_revision, wanted_at, wanted_seq, revised_at, posted_at, changed_seq)
SELECT key, revision, purpose, repo, pr, request_id, body, temporary, add_labels, remove_labels, state, attempts, reason,
       until, comment_id, url, posted_revision, labels_revision, wanted_at, wanted_seq, revised_at, posted_at, changed_seq
FROM json_populate_recordset(NULL::outbox, $1::json)
ON CONFLICT (key) DO UPDATE SET
    (revision, purpose, repo, pr, request_id, body, temporary, add_labels, remove_labels, state, attempts, reason,
    until, comment_id, url, posted_revision, labels_revision, revised_at, posted_at, changed_seq)
    = (excluded.revision, excluded.purpose, excluded.repo, excluded.pr, excluded.request_id, excluded.body,
    excluded.temporary, excluded.add_labels, excluded.remove_labels, excluded.state, excluded.attempts,
    excluded.reason, excluded.until, excluded.comment_id, excluded.url, excluded.posted_revision,
    excluded.labels_revision, excluded.revised_at, excluded.posted_at, excluded.changed_seq)
