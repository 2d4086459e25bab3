SELECT DISTINCT suite, tag, state FROM benchmark_request WHERE ended_seq IS NOT NULL
