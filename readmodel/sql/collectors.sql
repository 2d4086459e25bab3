SELECT {collector_config c},
       EXISTS (SELECT FROM assignment l WHERE l.name = c.name AND l.serving) AS serving,
       CASE
           WHEN c.removed_at IS NOT NULL THEN 'removed'
           WHEN NOT c.active THEN 'inactive'
           WHEN c.quarantined THEN 'quarantined'
           WHEN c.presence <> 'online' THEN c.presence
           WHEN c.draining THEN 'draining'
           WHEN EXISTS (SELECT FROM attempt a WHERE a.collector = c.name AND a.state = 'running') THEN 'benchmarking'
           ELSE 'idle'
       END AS state
FROM collector_config c
ORDER BY c.name
