SELECT {attempt}
FROM attempt
WHERE job_id = $1
ORDER BY token
