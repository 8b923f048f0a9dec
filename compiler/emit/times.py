"""Times as whole numbers in Spark SQL, and back."""

from __future__ import annotations

from neelc.emit.literals import MICROSECOND, NTZ_EPOCH, spark_type
from neelc.ir.logical import Clock
from neelc.ir.types import (
    BIGINT,
    DATE,
    INT,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
)
from neelc.ir.units import LENGTHS

FAR = "NEEL5070"
FARTHEST = 2**62 - 1
"""The difference of two such times fits into 64 bits, and so does one with a window more or less."""

_LARGEST: dict[DataType, int] = {BIGINT: 2**63, INT: 2**31, SMALLINT: 2**15, TINYINT: 2**7}


def as_number(text: str, type: DataType, unit: str, wanted: str, clock: Clock | None = None) -> str:
    """A time as a whole number of `wanted` units; `unit` is that of integers.

    Of a query whose `clock` is a TIMESTAMP all times are instants: a DATE and a TIMESTAMP_NTZ are times of
    the session's clock then.

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
    overflow = refusal(text, f"too far from 1970 to be counted in {wanted.lower()}s")
    return f"nvl2({text}, coalesce(try_multiply({number}, {factor}L), {overflow}), NULL)"


def with_room(number: str, type: DataType, unit: str, wanted: str) -> str:
    """A number of `as_number` that windows can be added to and subtracted from: what is too far from zero
    fails the run, whether the session is strict or not.

    >>> with_room("ts", INT, "SECOND", "MILLISECOND")
    'ts'
    >>> print(with_room("ts", BIGINT, "SECOND", "SECOND").partition(" raise_error")[0])
    IF(ts NOT BETWEEN -4611686018427387903L AND 4611686018427387903L,
    """
    largest = _LARGEST.get(type)
    if largest is None or largest * LENGTHS[unit] // LENGTHS[wanted] <= FARTHEST:
        return number
    problem = refusal(number, "too far from 0 to add a window")
    return f"IF({number} NOT BETWEEN -{FARTHEST}L AND {FARTHEST}L, {problem}, {number})"


def refusal(text: str, why: str) -> str:
    """An expression that fails the run because of a time."""
    return f"raise_error(concat('{FAR}: the time ', {text}, ' is {why}'))"


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
