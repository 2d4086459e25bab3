SELECT {alert} FROM alert WHERE cleared_seq IS NULL
