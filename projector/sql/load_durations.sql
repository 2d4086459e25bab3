SELECT row_to_json(d) FROM job_duration d
