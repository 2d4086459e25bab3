UPDATE definition d SET current = true
FROM definition_line l
WHERE l.suite = ANY ($1) AND l.branch = '' AND d.suite = l.suite AND d.digest = l.digest
