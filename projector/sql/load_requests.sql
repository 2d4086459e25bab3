SELECT row_to_json(r)
FROM benchmark_request r
WHERE state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress')
