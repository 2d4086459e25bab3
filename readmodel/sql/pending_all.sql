SELECT count(*) FROM benchmark_request WHERE state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress')
