-- Adds what a batch changed. The rows are there (open_usage), because a sum may be negative.
UPDATE usage u
SET jobs = u.jobs + d.jobs, charged_ms = u.charged_ms + d.charged_ms
FROM {usage[]} AS d
WHERE u.day = d.day AND u.tier = d.tier AND u.queue = d.queue AND u.account = d.account
