-- The collectors that are registered for a lane, with their states and since when they are in them.
SELECT name, version, builds, serves, state, CASE state
           WHEN 'registered' THEN registered_at
           WHEN 'offline' THEN coalesce(offline_at, last_event_at)
           WHEN 'updating' THEN coalesce(offline_at, last_event_at)
           ELSE last_event_at
       END AS since
FROM (
    SELECT name, version, builds, registered_at, offline_at, last_event_at,
           EXISTS (SELECT FROM assignment a WHERE a.target = $1 AND a."set" = $2 AND a.name = collector_config.name AND a.serving) AS serves,
           CASE
               WHEN NOT active THEN 'inactive'
               WHEN quarantined THEN 'quarantined'
               WHEN presence <> 'online' THEN presence
               WHEN draining THEN 'draining'
               ELSE 'idle'
           END AS state
    FROM collector_config
    WHERE target = $1 AND "set" = $2 AND removed_at IS NULL
) AS c
ORDER BY name
