DELETE FROM queue WHERE position > $1
