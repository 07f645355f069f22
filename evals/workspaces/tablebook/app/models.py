"""What the service knows about: restaurants, tables and bookings."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

# How long a table is kept for guests who are late.
GRACE_MINUTES = 20

# How long a visit lasts if nothing else is said.
DEFAULT_STAY = timedelta(hours=2)


class Status(Enum):
    """Where a booking stands."""

    REQUESTED = "requested"
    CONFIRMED = "confirmed"
    SEATED = "seated"
    CANCELLED = "cancelled"
    NO_SHOW = "no_show"


@dataclass(frozen=True)
class Table:
    """A table of a restaurant."""

    number: int
    seats: int
    outside: bool = False

    def fits(self, guests):
        """Whether so many guests can sit here."""
        return 0 < guests <= self.seats


@dataclass
class Restaurant:
    """A restaurant with its tables."""

    name: str
    tables: list[Table] = field(default_factory=list)
    opens: int = 17
    closes: int = 23

    def is_open(self, when):
        """Whether guests may come at this time."""
        return self.opens <= when.hour < self.closes

    def smallest_table(self, guests):
        """The smallest table that fits, or None."""
        fitting = [table for table in self.tables if table.fits(guests)]
        return min(fitting, key=lambda table: table.seats, default=None)


@dataclass
class Booking:
    """A table for some guests at some time."""

    guest: str
    guests: int
    starts: datetime
    table: Table | None = None
    stay: timedelta = DEFAULT_STAY
    status: Status = Status.REQUESTED
    phone: str = ""
    remarks: str = ""

    @property
    def ends(self):
        """When the table is free again."""
        return self.starts + self.stay

    def overlaps(self, other):
        """Whether both need the same table at the same time."""
        if self.table is None or self.table != other.table:
            return False
        return self.starts < other.ends and other.starts < self.ends

    def confirm(self, table):
        """Give the booking a table."""
        if not table.fits(self.guests):
            raise ValueError(f"table {table.number} is too small")
        self.table = table
        self.status = Status.CONFIRMED

    def cancel(self):
        """Give the table back."""
        self.table = None
        self.status = Status.CANCELLED

    def is_late(self, now):
        """Whether the guests have not come in time."""
        grace = timedelta(minutes=GRACE_MINUTES)
        return self.status is Status.CONFIRMED and now > self.starts + grace
