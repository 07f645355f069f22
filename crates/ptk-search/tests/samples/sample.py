#!/usr/bin/env python3
"""A module."""
import os

LIMIT = 3


# Reads a file.
@cached
def read(path):
    """Reads."""
    with open(path) as file:
        return file.read()


class Parser(Base):
    """Parses."""

    kind = "json"

    def __init__(self, text):
        self.text = text

    @property
    def rest(self):
        def inner():
            return 1
        return inner()


try:
    import fast
except ImportError:
    def fast(x):
        return x

if __name__ == "__main__":
    read(os.devnull)
