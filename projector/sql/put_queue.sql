INSERT INTO queue (position, request_id, level, reason, startable, estimated_start, estimated_end, estimated_start_earliest,
    estimated_start_latest, estimated_end_earliest, estimated_end_latest, overrun, guessed, no_end)
SELECT position, request_id, level, reason, startable, estimated_start, estimated_end, estimated_start_earliest,
       estimated_start_latest, estimated_end_earliest, estimated_end_latest, overrun, guessed, no_end
FROM json_populate_recordset(NULL::queue, $1::json)
ON CONFLICT (position) DO UPDATE SET
    (request_id, level, reason, startable, estimated_start, estimated_end, estimated_start_earliest,
    estimated_start_latest, estimated_end_earliest, estimated_end_latest, overrun, guessed, no_end)
    = (excluded.request_id, excluded.level, excluded.reason, excluded.startable, excluded.estimated_start,
    excluded.estimated_end, excluded.estimated_start_earliest, excluded.estimated_start_latest,
    excluded.estimated_end_earliest, excluded.estimated_end_latest, excluded.overrun, excluded.guessed,
    excluded.no_end)
