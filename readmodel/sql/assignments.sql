SELECT target, "set", name, standby, assigned_at, seq FROM assignment ORDER BY target, "set", name
