SELECT a.token, a.job_id, a.request_id, a.target, a."set", a.collector, a.instance, a.attempt, a.lost, a.version,
       a.environment, a.state, a.outcome, a.reason, a.started_at, a.ended_at, a.measured, a.skipped, a.failed,
       a.duration_ms
FROM collector_config c
CROSS JOIN LATERAL (SELECT * FROM attempt WHERE collector = c.name ORDER BY token DESC LIMIT 10) AS a
ORDER BY a.token DESC
