DELETE FROM assignment a
USING unnest($1::text[], $2::bigint[], $3::text[]) AS gone (target, "set", name)
WHERE a.target = gone.target AND a."set" = gone."set" AND a.name = gone.name
