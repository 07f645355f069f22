"""Which tables there are, and which of them are free."""

from flask import Blueprint, jsonify

from app import db

blueprint = Blueprint("tables", __name__)


@blueprint.get("/")
def list_tables():
    """All tables, the smallest first."""
    rows = db.fetch_all("SELECT number, seats FROM tables ORDER BY seats")
    return jsonify([{"number": number, "seats": seats} for number, seats in rows])
