INSERT INTO queue (position, request_id, level, reason, startable, estimated_start, estimated_end)
SELECT position, request_id, level, reason, startable, estimated_start, estimated_end
FROM json_populate_recordset(NULL::queue, $1::json)
ON CONFLICT (position) DO UPDATE SET
    (request_id, level, reason, startable, estimated_start, estimated_end)
    = (excluded.request_id, excluded.level, excluded.reason, excluded.startable, excluded.estimated_start,
    excluded.estimated_end)
