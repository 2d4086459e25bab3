-- The jobs that have what the jobs of a batch have, up to their round. Nearly all of them have no such row, so it is not
-- worth asking for each one.
SELECT {job_queue j}
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[]) AS n (suite, tag, kind, target, "set", round)
JOIN job_queue j USING (suite, tag, kind, target, "set", round)
