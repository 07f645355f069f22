"""Tells the load balancer that the service is alive."""

from flask import Blueprint, jsonify

from app import db

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def health():
    """Ask the database for something simple."""
    db.fetch_one("SELECT 1")
    return jsonify(status="ok")
