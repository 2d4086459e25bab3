SELECT job_id, request_id, state, ended_before FROM retired_job WHERE job_id = $1
