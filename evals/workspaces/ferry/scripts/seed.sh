#!/bin/sh
# Makes a database to try things with: three boats and a week of departures.
set -eu
rm -f ferry-test.db
go run ./cmd/ferryd -config configs/local.yaml -seed data/boats.csv -days 7
