SELECT {benchmark_request} FROM benchmark_request WHERE request_id = ANY ($1)
