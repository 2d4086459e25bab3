-- Whether the farm is shared: the log says something about accounts, queues, machines or shares.
SELECT EXISTS (SELECT FROM account) OR EXISTS (SELECT FROM named_queue) OR EXISTS (SELECT FROM share_policy) OR EXISTS (SELECT FROM share)
    OR EXISTS (SELECT FROM machine) AS shared
