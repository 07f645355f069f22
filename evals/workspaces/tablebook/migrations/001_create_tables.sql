-- 2024-02-11, Ingrid
CREATE TABLE tables (
    number integer PRIMARY KEY,
    seats integer NOT NULL,
    outside boolean NOT NULL DEFAULT false
);

CREATE TABLE bookings (
    id serial PRIMARY KEY,
    guest text NOT NULL,
    guests integer NOT NULL CHECK (guests BETWEEN 1 AND 14),
    starts timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'requested'
);
