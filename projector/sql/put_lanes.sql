INSERT INTO lane (target, "set", place, phase, job_id, collector, token, dispatched)
SELECT target, "set", place, phase, job_id, collector, token, dispatched
FROM json_populate_recordset(NULL::lane, $1::json)
ON CONFLICT (target, "set") DO UPDATE SET
    (place, phase, job_id, collector, token, dispatched)
    = (excluded.place, excluded.phase, excluded.job_id, excluded.collector, excluded.token, excluded.dispatched)
