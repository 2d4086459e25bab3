SELECT {named_queue} FROM named_queue WHERE name > $1 ORDER BY name LIMIT $2
