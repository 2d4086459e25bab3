SELECT {projection_cursor}
FROM projection_cursor
