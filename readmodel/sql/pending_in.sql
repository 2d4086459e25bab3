SELECT count(*) FROM benchmark_request WHERE queue = $1 AND state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress')
