SELECT {named_queue} FROM named_queue WHERE name = $1
