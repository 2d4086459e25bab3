SELECT {graph} FROM graph WHERE ended_at IS NULL
