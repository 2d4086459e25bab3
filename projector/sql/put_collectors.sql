INSERT INTO collector_config (name, target, "set", standby, nkey, active, presence, draining, quarantined, reason, presence_reason, instance, version, pid, environment,
    registered_at, key_since, removed_at, online_at, offline_at, last_event_seq, last_event_type, last_event_at)
SELECT name, target, "set", standby, nkey, active, presence, draining, quarantined, reason, presence_reason, instance, version, pid, environment,
       registered_at, key_since, removed_at, online_at, offline_at, last_event_seq, last_event_type, last_event_at
FROM json_populate_recordset(NULL::collector_config, $1::json)
ON CONFLICT (name) DO UPDATE SET
    (target, "set", standby, nkey, active, presence, draining, quarantined, reason, presence_reason, instance, version, pid, environment,
    registered_at, key_since, removed_at, online_at, offline_at, last_event_seq, last_event_type, last_event_at)
    = (excluded.target, excluded."set", excluded.standby, excluded.nkey, excluded.active, excluded.presence,
    excluded.draining, excluded.quarantined, excluded.reason, excluded.presence_reason, excluded.instance, excluded.version, excluded.pid,
    excluded.environment, excluded.registered_at, excluded.key_since, excluded.removed_at, excluded.online_at, excluded.offline_at, excluded.last_event_seq,
    excluded.last_event_type, excluded.last_event_at)
