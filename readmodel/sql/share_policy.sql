SELECT {share_policy} FROM share_policy
