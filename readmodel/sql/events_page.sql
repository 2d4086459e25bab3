-- The length of data is known without reading it, so data beyond the bytes is not read.
SELECT {event}
FROM (
    SELECT page.*, sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS ahead
    FROM (
        SELECT *
        FROM event
        WHERE seq > @after
          AND (@type = '' OR type = @type)
          AND (@subject = '' OR subject = @subject)
          AND (@prefix = '' OR starts_with(subject, @prefix))
          AND (@root = '' OR root = @root)
          AND (@cause::bigint = 0 OR cause = @cause)
          AND (@before::bigint = 0 OR seq < @before)
          AND (@span::bigint = 0 OR seq <= @after + @span)
        ORDER BY seq
        LIMIT @limit
    ) AS page
) AS measured
WHERE ahead < @bytes::bigint
ORDER BY seq
