SELECT row_to_json(l) FROM lane l
