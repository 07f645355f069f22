"""Letters to guests."""

import smtplib
from email.message import EmailMessage

from flask import current_app

SUBJECT = "Your table is waiting"
RETRIES = 3


def send_confirmation(address, number):
    """Tell a guest that the booking was taken."""
    mail = current_app.config["mail"]
    message = EmailMessage()
    message["From"] = mail["sender"]
    message["To"] = address
    message["Subject"] = SUBJECT
    message.set_content(f"We look forward to seeing you. Your booking has the number {number}.")
    for attempt in range(RETRIES):
        try:
            with smtplib.SMTP(mail["server"], timeout=5) as server:
                server.send_message(message)
            return True
        except OSError:
            continue
    return False
