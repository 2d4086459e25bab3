INSERT INTO event (seq, subject, type, event_id, source, time, actor, cause, root, stored_at, headers, data, chain, parked)
SELECT seq, subject, type, event_id, source, time, actor, cause, root, stored_at, headers::json, data, chain, parked
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::bigint[],
            $9::text[], $10::timestamptz[], $11::text[], $12::bytea[], $13::bytea[], $14::text[])
     AS came (seq, subject, type, event_id, source, time, actor, cause, root, stored_at, headers, data, chain, parked)
