DELETE FROM machine_warm w
USING unnest($1::text[], $2::text[]) AS gone (machine, name)
WHERE w.machine = gone.machine AND w.name = gone.name
