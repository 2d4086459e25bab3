INSERT INTO usage ({usage})
SELECT day, tier, queue, account, 0, 0 FROM json_populate_recordset(NULL::usage, $1::json)
ON CONFLICT DO NOTHING
