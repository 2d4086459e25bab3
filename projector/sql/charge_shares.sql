-- Adds what a batch changed. The rows are there (open_shares), because a sum may be negative.
UPDATE share s
SET running = s.running + d.running, dispatched = s.dispatched + d.dispatched, charged_ms = s.charged_ms + d.charged_ms
FROM {share[]} AS d
WHERE s.tier = d.tier AND s.queue = d.queue AND s.account = d.account
