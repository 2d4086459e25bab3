SELECT coalesce(max(position), 0)::bigint FROM queue
