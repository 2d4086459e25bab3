SELECT {output}
FROM output
WHERE job_id = $1
ORDER BY upload, name
