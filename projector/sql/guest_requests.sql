SELECT row_to_json(r) FROM benchmark_request r WHERE request_id = ANY ($1)
