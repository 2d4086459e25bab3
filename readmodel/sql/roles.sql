-- The role of all who only read. A connection that may not make roles continues without it.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tacho_reader') THEN
        CREATE ROLE tacho_reader NOLOGIN;
    END IF;
EXCEPTION
    -- Another connection made it at this moment, in another database of the server.
    WHEN duplicate_object OR unique_violation THEN NULL;
    WHEN insufficient_privilege THEN NULL;
END
$$;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tacho_reader') THEN
        IF NOT pg_has_role('tacho_reader', 'member') THEN
            GRANT tacho_reader TO CURRENT_USER;
        END IF;
        GRANT USAGE ON SCHEMA tacho TO tacho_reader;
        GRANT SELECT ON ALL TABLES IN SCHEMA tacho TO tacho_reader;
    END IF;
EXCEPTION
    WHEN insufficient_privilege THEN NULL;
END
$$;
