SELECT r.tag
FROM benchmark_request r
WHERE r.suite = $1 AND EXISTS (SELECT FROM result WHERE suite = r.suite AND tag = r.tag AND sample = '')
GROUP BY r.tag
ORDER BY max(r.created_seq) DESC
LIMIT $2
