SELECT key, revision, posted_revision, labels_revision, purpose, repo, pr, request_id, body, temporary, add_labels, remove_labels, state,
       attempts, reason, until, comment_id, url, wanted_at, wanted_seq, revised_at, posted_at, changed_seq
FROM outbox
WHERE key = $1
