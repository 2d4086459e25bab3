-- +goose Up

-- Data of an event are compressed where a row would take more than a quarter of a page, and stay in the row up to a page. MAIN says both; columns that are not MAIN would leave the row
-- first. A server without LZ4 keeps them as they are, as before.
-- +goose StatementBegin
DO $$
BEGIN
    ALTER TABLE event ALTER COLUMN data SET COMPRESSION lz4;
    ALTER TABLE event
        ALTER COLUMN data SET STORAGE MAIN, ALTER COLUMN headers SET STORAGE MAIN, ALTER COLUMN subject SET STORAGE MAIN,
        ALTER COLUMN type SET STORAGE MAIN, ALTER COLUMN event_id SET STORAGE MAIN, ALTER COLUMN source SET STORAGE MAIN,
        ALTER COLUMN actor SET STORAGE MAIN, ALTER COLUMN root SET STORAGE MAIN, ALTER COLUMN chain SET STORAGE MAIN,
        ALTER COLUMN parked SET STORAGE MAIN;
    ALTER TABLE event RESET (toast_tuple_target);
EXCEPTION WHEN feature_not_supported OR syntax_error THEN
    NULL;
END
$$;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE event SET (toast_tuple_target = 8160);
ALTER TABLE event
    ALTER COLUMN data SET STORAGE EXTERNAL, ALTER COLUMN headers SET STORAGE EXTENDED, ALTER COLUMN subject SET STORAGE EXTENDED,
    ALTER COLUMN type SET STORAGE EXTENDED, ALTER COLUMN event_id SET STORAGE EXTENDED, ALTER COLUMN source SET STORAGE EXTENDED,
    ALTER COLUMN actor SET STORAGE EXTENDED, ALTER COLUMN root SET STORAGE EXTENDED, ALTER COLUMN chain SET STORAGE EXTENDED,
    ALTER COLUMN parked SET STORAGE EXTENDED;
