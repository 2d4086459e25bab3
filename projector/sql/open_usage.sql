INSERT INTO usage ({usage})
SELECT day, tier, queue, account, 0, 0 FROM {usage[]} AS d
ON CONFLICT DO NOTHING
