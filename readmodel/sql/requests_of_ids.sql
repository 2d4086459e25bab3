SELECT * FROM benchmark_request WHERE request_id = ANY(@ids::text[])
