SELECT {machine} FROM machine WHERE removed_at IS NULL ORDER BY name
