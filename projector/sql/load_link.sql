SELECT chain FROM event WHERE seq = $1
