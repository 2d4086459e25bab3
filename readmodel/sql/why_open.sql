-- The open places of each account in each queue.
SELECT queue, account, sum(running)::bigint AS running FROM share WHERE running > 0 GROUP BY queue, account
