SELECT row_to_json(a) FROM assignment a
