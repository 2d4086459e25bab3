INSERT INTO share ({share})
SELECT tier, queue, account, 0, 0, 0 FROM {share[]} AS d
ON CONFLICT DO NOTHING
