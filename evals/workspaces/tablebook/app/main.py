"""Starts the web service."""

import json
from pathlib import Path

from flask import Flask

from app.routes import bookings, health, tables

SETTINGS = Path("config/settings.json")


def load_settings(path=SETTINGS):
    """Read the settings; fail loudly if there are none."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def create_app(settings=None):
    """Build the application."""
    app = Flask("tablebook")
    app.config.update(settings or load_settings())
    app.register_blueprint(bookings.blueprint, url_prefix="/bookings")
    app.register_blueprint(tables.blueprint, url_prefix="/tables")
    app.register_blueprint(health.blueprint)
    return app


app = create_app()

if __name__ == "__main__":
    app.run(host=app.config["host"], port=app.config["port"])
