"""Values and sentences as a reader of a picture sees them."""

from __future__ import annotations

from neelc.data.cells import quoted, render
from neelc.ir.logical import Clock
from neelc.ir.types import DATE, DataType
from neelc.report.picture import Lane
from neelc.runtime.reference.times import moment


def text_of(value: object, type: DataType | None = None) -> str:
    """
    >>> text_of("a b"), text_of(None), text_of(1.5)
    ('a b', 'NULL', '1.5')
    """
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else render(value, type or DATE)


def lane_text(lane: Lane) -> str:
    """What stands beside a lane; events of a stream without the key have none.

    >>> lane_text((7, "x")), lane_text((None,)), lane_text(())
    ('7, x', 'NULL', 'without a key')

    A text that reads as something else stands in quotes.

    >>> lane_text(("",)), lane_text(("NULL",)), lane_text(("a, b",)), lane_text(("a, b", "c"))
    ("''", "'NULL'", 'a, b', "'a, b', c")
    """
    return ", ".join(_part(value, len(lane) > 1) for value in lane) if lane else "without a key"


def _part(value: object, is_one_of_many: bool) -> str:
    if not isinstance(value, str):
        return text_of(value)
    reads_else = value.upper() == "NULL" or value != value.strip() or value.startswith("'")
    return quoted(value) if not value or reads_else or (is_one_of_many and "," in value) else value


def time_text(time: int, clock: Clock) -> str:
    """A time in nanoseconds as its clock writes it.

    >>> from neelc.ir.types import BIGINT, TIMESTAMP
    >>> time_text(3_000_000_000, Clock(BIGINT, "SECOND")), time_text(0, Clock(TIMESTAMP))
    ('3', '1970-01-01 00:00:00')
    """
    return text_of(moment(time, clock))


def counted(number: int, word: str, many: str | None = None) -> str:
    """
    >>> counted(1, "match", "matches"), counted(12000, "event")
    ('1 match', '12,000 events')
    """
    return f"{number:,} {word if number == 1 else many or word + 's'}"
