"""Values, times and lengths of time as people read them."""

from __future__ import annotations

import datetime

from neelc.data import cells
from neelc.ir.expr import Literal
from neelc.ir.pattern import Window
from neelc.ir.types import BIGINT, INT, VOID, DataType
from neelc.ir.units import LENGTHS
from neelc.runtime.reference.model import Event
from neelc.runtime.reference.windows import length, size

FEW = 100
"""Lengths of fewer units than these are told in that unit."""


def shown(value: object, type: DataType = VOID) -> str:
    """A value as it would be written in a query.

    >>> shown("surgery"), shown(None), shown(1.5), shown(datetime.date(2024, 3, 1))
    ("'surgery'", 'NULL', '1.5', '2024-03-01')
    """
    match value:
        case None:
            return "NULL"
        case str():
            return cells.quoted(value)
    return cells.render(value, type)


def time_of(event: Event, beside: Event | None = None) -> str:
    """When an event was; with `beside`, on the day of that event, the time of day alone.

    >>> one, two = (datetime.datetime(2024, 3, 1, hour) for hour in (8, 9))
    >>> first, second = (Event("S", n, "A", n, n, {}, (t, t)) for n, t in enumerate([one, two]))
    >>> time_of(first), time_of(second, first)
    ('2024-03-01 08:00:00', '09:00:00')
    """
    starts, ends = (_time(value, beside) for value in event.times)
    return starts if starts == ends else f"{starts} to {ends}"


def _time(value: object, beside: Event | None) -> str:
    text = shown(value)
    other = beside.times[0] if beside is not None else None
    if isinstance(value, datetime.datetime) and isinstance(other, datetime.datetime):
        day, _, time = text.partition(" ")
        return time if shown(other).startswith(day) else text
    return text


def length_text(nanoseconds: int) -> str:
    """A length of time: in one unit where that is a small number, else in days, hours, minutes and seconds.

    >>> length_text(72 * 60 * 10**9), length_text(10**9), length_text(0), length_text(5 * 10**6)
    ('72 minutes', '1 second', '0 seconds', '5 milliseconds')
    >>> length_text(85_504 * 10**6), length_text(1_500 * 10**6), length_text(100_000 * 10**9)
    ('1 minute 25.504 seconds', '1.5 seconds', '1 day 3 hours 46 minutes 40 seconds')
    """
    if nanoseconds == 0:
        return "0 seconds"
    unit = next(unit for unit in LENGTHS if unit != "WEEK" and nanoseconds % LENGTHS[unit] == 0)
    count = nanoseconds // LENGTHS[unit]
    if count < FEW:
        return _counted(str(count), unit)
    parts, rest = [], nanoseconds
    for unit in ("DAY", "HOUR", "MINUTE"):
        count, rest = divmod(rest, LENGTHS[unit])
        parts += [_counted(str(count), unit)] if count else []
    whole, fraction = divmod(rest, LENGTHS["SECOND"])
    seconds = f"{whole}.{fraction:09d}".rstrip("0").rstrip(".")
    return " ".join([*parts, *([_counted(seconds, "SECOND")] if rest else [])])


def _counted(count: str, unit: str) -> str:
    return f"{count} {unit.lower()}{'' if count == '1' else 's'}"


def size_text(amount: int, window: Window) -> str:
    """The size of a window like this one, in words."""
    if window.unit == "EVENT":
        return f"{amount:,} event{'' if amount == 1 else 's'}"
    return length_text(amount)


def window_of(amount: int, window: Window) -> Window:
    """A window of this size: in the unit of `window` where that is a whole number, else in a smaller one.

    >>> print(window_of(72 * 60 * 10**9, Window(Literal(1, BIGINT), "HOUR")))
    72 MINUTES
    """
    if window.unit == "EVENT":
        return Window(_whole(amount), "EVENT")
    units = list(LENGTHS)
    smaller = units[units.index(window.unit or "NANOSECOND") :]
    unit = next(unit for unit in smaller if amount % LENGTHS[unit] == 0)
    return Window(_whole(amount // LENGTHS[unit]), unit)


def _whole(number: int) -> Literal:
    return Literal(number, INT if number < 2**31 else BIGINT)


def window_size(window: Window) -> int:
    """The size of a window: nanoseconds, or a number of events."""
    return size(window) if window.unit == "EVENT" else length(window)
