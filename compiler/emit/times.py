"""Times as whole numbers in Spark SQL, and back."""

from __future__ import annotations

from neelc.emit.literals import MICROSECOND, NTZ_EPOCH, spark_type
from neelc.ir.logical import Clock
from neelc.ir.types import DATE, TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.ir.units import LENGTHS


def as_number(text: str, type: DataType, unit: str, wanted: str, clock: Clock | None = None) -> str:
    """A time as a whole number of `wanted` units; `unit` is that of integers.

    Of a query whose `clock` is a TIMESTAMP all times are instants: a DATE and a TIMESTAMP_NTZ are times of
    the session's clock then.

    >>> from neelc.ir.types import BIGINT
    >>> as_number("ts", BIGINT, "SECOND", "SECOND"), as_number("ts", TIMESTAMP, "", "MICROSECOND")
    ('CAST(ts AS BIGINT)', 'unix_micros(ts)')
    >>> as_number("ts", DATE, "", "DAY")
    'CAST(unix_date(ts) AS BIGINT)'
    >>> as_number("day", DATE, "", "MICROSECOND", Clock(TIMESTAMP))
    'unix_micros(CAST(day AS TIMESTAMP))'
    """
    if clock is not None and clock.type == TIMESTAMP and type in (DATE, TIMESTAMP_NTZ):
        return as_number(f"CAST({text} AS TIMESTAMP)", TIMESTAMP, unit, wanted)
    numbers: dict[DataType, tuple[str, str]] = {
        TIMESTAMP: (f"unix_micros({text})", "MICROSECOND"),
        # Not timestampdiff, which would cast it to a TIMESTAMP, in the time zone of the session.
        TIMESTAMP_NTZ: (f"({text} - {NTZ_EPOCH}) DIV {MICROSECOND}", "MICROSECOND"),
        DATE: (f"CAST(unix_date({text}) AS BIGINT)", "DAY"),
    }
    number, own = numbers.get(type, (f"CAST({text} AS BIGINT)", unit))
    factor = LENGTHS[own] // LENGTHS[wanted]
    if factor == 1:
        return number
    # A time too far from 1970 for the finer unit must not become another time.
    overflow = f"raise_error('a time is out of range in {wanted.lower()}s')"
    return f"nvl2({text}, coalesce(try_multiply({number}, {factor}L), {overflow}), NULL)"


def as_time(text: str, unit: str, clock: Clock, counted: Clock | None = None) -> str:
    """A whole number of `unit` as the clock writes times; `counted` is the clock that it is a time of.

    >>> as_time("match_start", "MICROSECOND", Clock(TIMESTAMP))
    'timestamp_micros(match_start)'
    """
    if counted is not None and counted.type == TIMESTAMP and clock.type in (DATE, TIMESTAMP_NTZ):
        return f"CAST({as_time(text, unit, counted)} AS {spark_type(clock.type)})"
    if clock.unit is not None:
        number = in_unit(text, unit, clock.unit)
        return f"CAST({number} AS {spark_type(clock.type)})"
    if clock.type == DATE:
        return f"date_from_unix_date(CAST({in_unit(text, unit, 'DAY')} AS INT))"
    number = in_unit(text, unit, "MICROSECOND")
    if clock.type == TIMESTAMP_NTZ:
        return f"timestampadd(MICROSECOND, {number}, {NTZ_EPOCH})"
    return f"timestamp_micros({number})"


def in_unit(text: str, unit: str, wanted: str) -> str:
    """
    >>> in_unit("t", "MILLISECOND", "SECOND")
    '(t - pmod(t, 1000L)) DIV 1000L'
    >>> in_unit("t", "SECOND", "MILLISECOND"), in_unit("t", "DAY", "DAY")
    ('t * 1000L', 't')
    """
    if LENGTHS[unit] == LENGTHS[wanted]:
        return text
    if LENGTHS[unit] > LENGTHS[wanted]:
        return f"{text} * {LENGTHS[unit] // LENGTHS[wanted]}L"
    return floor_divided(text, LENGTHS[wanted] // LENGTHS[unit])


def floor_divided(text: str, by: int) -> str:
    """Division that rounds down, below zero too: DIV rounds towards zero."""
    return f"({text} - pmod({text}, {by}L)) DIV {by}L"
