SELECT row_to_json(c) FROM collector_config c
