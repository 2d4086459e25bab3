-- The branches behind one of a suite that have definitions, without what is said of files that were refused.
SELECT {definition_line but problems}, NULL::text[] AS problems
FROM definition_line
WHERE digest <> '' AND (suite, branch) > ($1, $2)
ORDER BY suite, branch
LIMIT $3
