from datetime import datetime

import pytest

from app.models import Booking, Restaurant, Table


def test_the_smallest_table_that_fits_is_taken():
    place = Restaurant("Nonna", [Table(1, 8), Table(2, 4), Table(3, 2)])
    assert place.smallest_table(3).number == 2


def test_a_small_table_is_refused():
    booking = Booking("Okafor", 5, datetime(2025, 4, 12, 19))
    with pytest.raises(ValueError):
        booking.confirm(Table(3, 2))
