-- The collectors of machines, with their states and since when they are in them.
SELECT name, machine, target, "set", version, builds, state, CASE state
           WHEN 'registered' THEN registered_at
           WHEN 'offline' THEN coalesce(offline_at, last_event_at)
           WHEN 'updating' THEN coalesce(offline_at, last_event_at)
           ELSE last_event_at
       END AS since
FROM (
    SELECT name, machine, target, "set", version, builds, registered_at, offline_at, last_event_at,
           CASE
               WHEN NOT active THEN 'inactive'
               WHEN quarantined THEN 'quarantined'
               WHEN presence <> 'online' THEN presence
               WHEN draining THEN 'draining'
               WHEN EXISTS (SELECT FROM attempt a WHERE a.collector = c.name AND a.state = 'running') THEN 'benchmarking'
               ELSE 'idle'
           END AS state
    FROM collector_config c
    WHERE machine <> '' AND removed_at IS NULL
) AS c
ORDER BY machine, target, "set", name
