SELECT DISTINCT suite, tag FROM benchmark_request WHERE ended_seq IS NOT NULL
