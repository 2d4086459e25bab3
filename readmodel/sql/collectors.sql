SELECT c.name, c.target, c."set", c.standby, c.nkey, c.active, c.presence = 'online' AS online, c.draining, c.quarantined,
       EXISTS (SELECT FROM assignment l WHERE l.name = c.name AND l.serving) AS serving,
       CASE
           WHEN c.removed_at IS NOT NULL THEN 'removed'
           WHEN NOT c.active THEN 'inactive'
           WHEN c.quarantined THEN 'quarantined'
           WHEN c.presence <> 'online' THEN c.presence
           WHEN c.draining THEN 'draining'
           WHEN EXISTS (SELECT FROM attempt a WHERE a.collector = c.name AND a.state = 'running') THEN 'benchmarking'
           ELSE 'idle'
       END AS state,
       CASE
           WHEN c.removed_at IS NOT NULL OR NOT c.active OR c.quarantined OR c.draining AND c.presence = 'online' THEN c.reason
           ELSE c.presence_reason
       END AS reason,
       c.instance, c.version, c.pid, c.environment, c.registered_at, c.key_since, c.removed_at, c.online_at, c.offline_at,
       c.last_event_seq, c.last_event_type, c.last_event_at
FROM collector_config c
ORDER BY c.name
