SELECT row_to_json(e) FROM expected_jobs e
