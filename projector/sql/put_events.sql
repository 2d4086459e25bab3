INSERT INTO event ({event})
SELECT {event}
FROM {event[]} AS came
