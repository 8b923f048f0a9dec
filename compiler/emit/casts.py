"""CAST as text that cannot fail. Where a clock is asked for it is, as everywhere in Spark, the session's."""

from __future__ import annotations

import decimal
from collections.abc import Callable

from neelc.emit.literals import constant, spark_type
from neelc.emit.syntax import Sql, try_cast
from neelc.emit.syntax import cast as plain_cast
from neelc.emit.written import INTEGERS, Written
from neelc.ir import decimals
from neelc.ir.moments import date_of, timestamp_ntz_of, timestamp_of
from neelc.ir.typeof import INTERVALS
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)

_READERS: dict[DataType, Callable[[str], object]] = {
    DATE: date_of,
    TIMESTAMP: timestamp_of,
    TIMESTAMP_NTZ: timestamp_ntz_of,
}
# Decimals of more places than this are written with an exponent, unless the cast is a strict one.
_PLAIN_SCALE = 6


def cast(operand: Written, target: DataType, implicit: bool = False) -> Sql:
    """The operand as a value of `target`, NULL where it cannot be one."""
    source = operand.type
    if source == target and not (operand.is_integer and operand.value is not None):
        return operand.sql
    folded = _folded(operand, target, implicit)
    if folded is not None:
        return folded
    sql = widest(operand) if source in INTERVALS else operand.sql
    return (plain_cast if is_safe(source, target) else try_cast)(sql, spark_type(target))


def widest(operand: Written) -> Sql:
    """An interval of all fields of its kind: others have other texts, other numbers and fewer fields."""
    return plain_cast(operand.sql, spark_type(operand.type))


def _folded(operand: Written, target: DataType, implicit: bool) -> Sql | None:
    """A constant of the target's type, where the operand is one that Spark has a literal for.

    Not of an integer that the user casts: beside a DECIMAL, a literal has as many digits as it shows.
    """
    match operand.value, target:
        case str() as value, _ if operand.type == STRING and target in _READERS:
            # A text without a zone stays one: it is the running session that says which it is in.
            return constant(None if _READERS[target](value) is None else value, target)
        case int() as value, Decimal(precision, 0) if _is_integer(value) and abs(value) < 10**precision:
            return constant(decimal.Decimal(value), target)
        case int() as value, _ if not implicit or not _is_integer(value):
            return None
        case int() as value, _ if target in INTEGERS and is_safe(operand.type, target):
            return constant(value, target)
        case int() as value, _ if target == DOUBLE and abs(value) < 2**53:
            return constant(float(value), target)
    return None


def _is_integer(value: int) -> bool:
    return not isinstance(value, bool)


def is_safe(source: DataType, target: DataType) -> bool:
    """Whether no value fails, and the strictness of the session makes no difference.

    >>> from neelc.ir.types import INT
    >>> is_safe(INT, BIGINT), is_safe(BIGINT, INT), is_safe(INT, Decimal(5, 2)), is_safe(INT, STRING)
    (True, False, False, True)
    """
    if source == VOID:
        return True
    match source, target:
        case Array(one), Array(other):
            return is_safe(one, other)
        case Map(), Map():
            return False
        case Struct(fields), Struct(others):
            return all(is_safe(f.type, o.type) for f, o in zip(fields, others, strict=True))
        case _ if target == STRING:
            return _is_plain(source)
        case _, Decimal(precision, scale):
            return _fits(source, precision, scale)
    if source in INTEGERS and target in INTEGERS:
        return INTEGERS.index(source) <= INTEGERS.index(target)
    if source in INTEGERS and target == TIMESTAMP:
        return True
    if target in (FLOAT, DOUBLE):
        return source != STRING
    if source == BOOLEAN or target in (BOOLEAN, BINARY):
        return source != STRING or target == BINARY
    if source == TIMESTAMP:
        return target in (BIGINT, DATE, TIMESTAMP_NTZ)
    return source in (DATE, TIMESTAMP_NTZ) and target in (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def _is_plain(source: DataType) -> bool:
    match source:
        case Decimal(_, scale):
            return scale <= _PLAIN_SCALE
        case Array(element):
            return _is_plain(element)
        case Map(key, value):
            return _is_plain(key) and _is_plain(value)
        case Struct(fields):
            return all(_is_plain(field.type) for field in fields)
    return True


def _fits(source: DataType, precision: int, scale: int) -> bool:
    if source == BOOLEAN:
        return precision > scale
    exact = source if isinstance(source, Decimal) else decimals.EXACT.get(source)
    if exact is None or source in (FLOAT, DOUBLE):
        return False
    return exact.scale <= scale and exact.precision - exact.scale <= precision - scale
