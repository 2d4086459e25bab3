SELECT row_to_json(a) FROM attempt a WHERE state = 'running'
