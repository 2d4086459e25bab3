SELECT benchmark, profile, scenario, backend, target, metric, environment, max(spread) AS spread
FROM noise
WHERE suite = @suite AND ended_at BETWEEN @from AND @to AND (@metric = '' OR metric = @metric)
GROUP BY benchmark, profile, scenario, backend, target, metric, environment
ORDER BY benchmark, profile, scenario, backend, target, metric, environment
