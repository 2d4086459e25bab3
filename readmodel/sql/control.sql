CREATE SCHEMA IF NOT EXISTS tacho;
CREATE TABLE IF NOT EXISTS tacho.generation (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    number bigint NOT NULL CHECK (number >= 1)
);
