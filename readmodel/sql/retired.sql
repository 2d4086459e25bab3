SELECT {retired_job}
FROM retired_job WHERE job_id = $1
