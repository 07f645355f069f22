"""Connections to the database."""

from contextlib import contextmanager

import psycopg
from flask import current_app


@contextmanager
def connection():
    """A connection that is committed at the end, or rolled back."""
    settings = current_app.config["database"]
    # To do: use the pool instead of a new connection each time.
    with psycopg.connect(settings["url"], connect_timeout=settings["timeout_seconds"]) as conn:
        yield conn


def fetch_all(query, *args):
    """All rows of a query."""
    with connection() as conn:
        return conn.execute(query, args).fetchall()


def fetch_one(query, *args):
    """The first row of a query, or None."""
    with connection() as conn:
        return conn.execute(query, args).fetchone()
