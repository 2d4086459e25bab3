-- Whether the farm is shared: the log says something about accounts, queues or shares.
SELECT EXISTS (SELECT FROM account) OR EXISTS (SELECT FROM named_queue) OR EXISTS (SELECT FROM share_policy) OR EXISTS (SELECT FROM share) AS shared
