INSERT INTO assignment (target, "set", name, standby, serving, assigned_at, seq)
SELECT target, "set", name, standby, serving, assigned_at, seq
FROM json_populate_recordset(NULL::assignment, $1::json)
