WITH itself AS (SELECT tag FROM benchmark_request WHERE tag = $1 LIMIT 1),
beginning AS (
    SELECT tag FROM benchmark_request WHERE NOT EXISTS (SELECT FROM itself) AND starts_with(tag, $1)
    UNION
    SELECT parent_tag FROM benchmark_request WHERE NOT EXISTS (SELECT FROM itself) AND starts_with(parent_tag, $1)
)
SELECT tag FROM (SELECT tag FROM itself UNION ALL SELECT tag FROM beginning) AS named
ORDER BY length(tag), tag
LIMIT $2
