SELECT {event}
FROM event
WHERE seq > @after
  AND (@type = '' OR type = @type)
  AND (@subject = '' OR subject = @subject)
  AND (@prefix = '' OR starts_with(subject, @prefix))
  AND (@root = '' OR root = @root)
  AND (@cause::bigint = 0 OR cause = @cause)
  AND (@before::bigint = 0 OR seq < @before)
ORDER BY seq ASC
LIMIT @limit
