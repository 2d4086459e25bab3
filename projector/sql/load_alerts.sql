SELECT row_to_json(a) FROM alert a WHERE cleared_seq IS NULL
