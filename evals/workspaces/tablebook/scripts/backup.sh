#!/bin/sh
# Saves the database every night; keeps 21 days.
set -eu
target=/var/backups/tablebook
pg_dump tablebook | gzip > "$target/$(date +%F).sql.gz"
find "$target" -name '*.sql.gz' -mtime +21 -delete
