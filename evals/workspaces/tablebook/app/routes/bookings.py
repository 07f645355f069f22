"""Making, showing and cancelling bookings."""

from flask import Blueprint, abort, jsonify, request

from app import db
from app.services import mailer

blueprint = Blueprint("bookings", __name__)


@blueprint.post("/")
def create_booking():
    """Take a booking and write to the guest."""
    data = request.get_json()
    if data.get("guests", 0) > 14:
        abort(422, "groups of more than 14 have to call")
    row = db.fetch_one(
        "INSERT INTO bookings (guest, guests, starts) VALUES (%s, %s, %s) RETURNING id",
        data["guest"],
        data["guests"],
        data["starts"],
    )
    mailer.send_confirmation(data["email"], row[0])
    return jsonify(id=row[0]), 201


@blueprint.get("/<int:number>")
def show_booking(number):
    """One booking."""
    row = db.fetch_one("SELECT guest, guests, starts FROM bookings WHERE id = %s", number)
    if row is None:
        abort(404)
    return jsonify(guest=row[0], guests=row[1], starts=row[2])


@blueprint.delete("/<int:number>")
def cancel_booking(number):
    """Give the table back. To do: tell the guest as well."""
    db.fetch_one("UPDATE bookings SET status = 'cancelled' WHERE id = %s RETURNING id", number)
    return "", 204
