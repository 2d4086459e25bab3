SELECT key, revision, posted_revision, labels_revision, purpose, repo, pr, request_id, body, temporary, add_labels, remove_labels, state,
       attempts, reason, until, comment_id, url, wanted_at, wanted_seq, revised_at, posted_at, changed_seq
FROM outbox
WHERE (@state = '' OR state = @state)
  AND (@pr::bigint = 0 OR pr = @pr)
  AND (@request = '' OR request_id = @request)
  AND (@before::bigint = 0 OR wanted_seq < @before)
ORDER BY wanted_seq DESC
LIMIT @limit
