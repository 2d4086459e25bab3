SELECT job_id FROM retired_job WHERE job_id = ANY ($1)
