-- 2024-09-03, Kofi
ALTER TABLE bookings ADD COLUMN phone varchar(32);
CREATE INDEX bookings_by_phone ON bookings (phone);
