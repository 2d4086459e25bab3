SELECT {output}
FROM output
WHERE job_id = $1
   -- A job that took a run over has the outputs of that.
   OR NOT upload AND job_id = (SELECT j.reused_from FROM job_queue j WHERE j.job_id = $1)
ORDER BY upload, name
