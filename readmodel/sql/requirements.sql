-- How many different requirements the requests have that have not ended, and whether these terms are one of them.
SELECT count(DISTINCT requires) AS count, coalesce(bool_or(requires = $1), false) AS known FROM benchmark_request
WHERE state IN ('waiting_for_artifacts', 'artifacts_ready', 'in_progress') AND cardinality(requires) > 0
