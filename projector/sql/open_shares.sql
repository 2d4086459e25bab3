INSERT INTO share ({share})
SELECT tier, queue, account, 0, 0, 0 FROM json_populate_recordset(NULL::share, $1::json)
ON CONFLICT DO NOTHING
