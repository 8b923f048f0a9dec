"""Which type two types have in common, and which casts there are: Spark 4's ANSI rules."""

from __future__ import annotations

from collections.abc import Iterable

from neelc.ir import decimals
from neelc.ir.expr import Cast, Expr
from neelc.ir.names import same
from neelc.ir.typeof import DATETIMES, INTERVALS
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
)

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
REALS = (FLOAT, DOUBLE)


def is_number(type: DataType) -> bool:
    return type in INTEGERS or type in REALS or isinstance(type, Decimal)


def is_nested(type: DataType) -> bool:
    return isinstance(type, Array | Map | Struct)


def is_orderable(type: DataType) -> bool:
    """Whether values of the type can be compared: all but maps, and what holds maps.

    >>> is_orderable(Array(INT)), is_orderable(Array(Map(INT, INT)))
    (True, False)
    """
    match type:
        case Array(element):
            return is_orderable(element)
        case Struct(fields):
            return all(is_orderable(field.type) for field in fields)
    return not isinstance(type, Map)


def cast_to(expression: Expr, source: DataType, target: DataType) -> Expr:
    """The expression, with an implicit cast if its type is another."""
    return expression if source == target else Cast(expression, target, implicit=True, span=expression.span)


def common(left: DataType, right: DataType, strings: bool = True) -> DataType | None:
    """The type that values of both are cast to before they are compared or put into one column, or None.

    `strings` says whether a STRING may become the type of the other side.

    >>> common(INT, FLOAT), common(DATE, TIMESTAMP), common(STRING, INT), common(BOOLEAN, INT)
    (Simple(name='DOUBLE'), Simple(name='TIMESTAMP'), Simple(name='BIGINT'), None)
    """
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if left in DATETIMES and right in DATETIMES:
        return TIMESTAMP_NTZ if TIMESTAMP not in (left, right) else TIMESTAMP
    if strings and STRING in (left, right):
        return _promoted(right if left == STRING else left)
    return _common_nested(left, right, strings)


def _common_number(left: DataType, right: DataType) -> DataType:
    if left in REALS or right in REALS:
        return DOUBLE  # INT with FLOAT too: a FLOAT cannot hold every INT
    if left in INTEGERS and right in INTEGERS:
        return INTEGERS[max(INTEGERS.index(left), INTEGERS.index(right))]
    first, second = decimals.as_decimal(left), decimals.as_decimal(right)
    assert first is not None and second is not None
    return decimals.wider(first, second)


def _promoted(other: DataType) -> DataType | None:
    """What a STRING becomes beside a value of another type."""
    if other in INTEGERS:
        return BIGINT
    if is_number(other):
        return DOUBLE
    return None if other in INTERVALS or is_nested(other) else other


def _common_nested(left: DataType, right: DataType, strings: bool) -> DataType | None:
    match left, right:
        case Array(first), Array(second):
            element = common(first, second, strings)
            return None if element is None else Array(element)
        case Map(first_key, first_value), Map(second_key, second_value):
            key, value = common(first_key, second_key, strings), common(first_value, second_value, strings)
            return None if key is None or value is None else Map(key, value)
        case Struct(first_fields), Struct(second_fields) if len(first_fields) == len(second_fields):
            fields = []
            for one, other in zip(first_fields, second_fields, strict=True):
                type = common(one.type, other.type, strings)
                if type is None or not same(one.name, other.name):
                    return None
                fields.append(StructField(one.name, type))
            return Struct(tuple(fields))
    return None


def common_of(types: Iterable[DataType], strings: bool = True) -> DataType | None:
    """The common type of many, from left to right as Spark does.

    >>> common_of([INT, STRING, Decimal(2, 1)])
    Decimal(precision=21, scale=1)
    """
    found: DataType | None = VOID
    for type in types:
        if found is not None:
            found = common(found, type, strings)
    return found


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether CAST(source AS target) makes sense at all; a single value may still fail, which gives NULL.

    >>> can_cast(STRING, DATE), can_cast(INT, DATE), can_cast(TIMESTAMP, BIGINT)
    (True, False, True)
    """
    if VOID in (source, target) or source == target:
        return target != VOID or source == VOID
    match source, target:
        case Array(one), Array(other):
            return can_cast(one, other)
        case Map(key, value), Map(other_key, other_value):
            return can_cast(key, other_key) and can_cast(value, other_value)
        case Struct(fields), Struct(others):
            pairs = zip(fields, others, strict=False)
            return len(fields) == len(others) and all(can_cast(f.type, o.type) for f, o in pairs)
    if target == STRING:
        return True
    if is_nested(source) or is_nested(target):
        return False
    if source == STRING:
        return True
    if is_number(target):
        counted = source in INTERVALS and target not in REALS
        return counted or is_number(source) or source in (BOOLEAN, TIMESTAMP)
    if target == TIMESTAMP:
        return is_number(source) or source in DATETIMES
    if target in (DATE, TIMESTAMP_NTZ):
        return source in DATETIMES
    if target in INTERVALS:
        return source in INTEGERS or isinstance(source, Decimal)
    return target == BOOLEAN and is_number(source)
