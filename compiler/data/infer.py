"""Types of columns that nobody declared, from the values they hold."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterable, Sequence

from neelc.bind.coercion import common, is_number
from neelc.data.values import Misfit, from_text
from neelc.ir.names import bare, written
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Array,
    DataType,
    Struct,
    StructField,
)

# The first type that holds every value is the column's. Patterns, because Spark also casts `2024` to a DATE.
_CANDIDATES = (
    (BIGINT, re.compile(r"[+-]?[0-9]+")),
    (DOUBLE, re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(Infinity|Inf)|NaN")),
    (BOOLEAN, re.compile(r"true|false", re.IGNORECASE)),
    (DATE, re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")),
    (TIMESTAMP, re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}.*)?")),
)


def type_of_texts(texts: Sequence[str]) -> DataType:
    """The type of a column of texts, NULLs left out.

    >>> [str(type_of_texts(t)) for t in (["1", "2"], ["1", "2.5"], ["true"], ["x"], [])]
    ['BIGINT', 'DOUBLE', 'BOOLEAN', 'STRING', 'VOID']
    """
    if not texts:
        return VOID
    fitting = (type for type, form in _CANDIDATES if all(_is_of(text, type, form) for text in texts))
    return next(fitting, STRING)


def _is_of(text: str, type: DataType, form: re.Pattern[str]) -> bool:
    if form.fullmatch(text.strip()) is None:
        return False
    try:
        from_text(text, type)
    except Misfit:
        return False
    return True


def type_of_values(values: Iterable[object]) -> DataType:
    """The type of a column of JSON values, VOID if there is none.

    >>> str(type_of_values([{"x": 1}, {"x": 2.5, "y": "a"}, None]))
    'STRUCT<x: DOUBLE, y: STRING>'
    >>> str(type_of_values([1, "a"]))
    'STRING'
    """
    found: DataType = VOID
    for value in values:
        found = common_type(found, _type_of(value))
    return found


def _type_of(value: object) -> DataType:
    match value:
        case None:
            return VOID
        case bool():
            return BOOLEAN
        case int() if -(1 << 63) <= value < 1 << 63:
            return BIGINT
        case int() | float() | decimal.Decimal():
            return DOUBLE
        case str() if type_of_texts([value]) == TIMESTAMP:
            return TIMESTAMP
        case bytes():
            return BINARY
        case datetime.datetime():
            return TIMESTAMP_NTZ if value.tzinfo is None else TIMESTAMP
        case datetime.date():
            return DATE
        case list() | tuple():
            element: DataType = VOID
            for item in value:
                element = common_type(element, _type_of(item))
            return Array(element)
        case dict():
            return Struct(tuple(StructField(written(key), _type_of(item)) for key, item in value.items()))
    return STRING


def common_type(left: DataType, right: DataType) -> DataType:
    """The type that holds the values of both; STRING holds everything.

    >>> from neelc.ir.types import INT
    >>> str(common_type(BIGINT, DOUBLE)), str(common_type(INT, BIGINT)), str(common_type(BIGINT, DATE))
    ('DOUBLE', 'BIGINT', 'STRING')
    """
    match left, right:
        case _ if left == right or right == VOID:
            return left
        case _ if left == VOID:
            return right
        case Array(a), Array(b):
            return Array(common_type(a, b))
        case Struct(some), Struct(others):
            types = {field.name: field.type for field in some}
            for field in others:
                types[field.name] = common_type(types.get(field.name, VOID), field.type)
            return Struct(tuple(StructField(name, type) for name, type in types.items()))
    return (common(left, right) if is_number(left) and is_number(right) else None) or STRING


def settled(type: DataType) -> DataType:
    """Inside of a type, STRING where no value was seen."""
    match type:
        case Array(element):
            return Array(STRING if element == VOID else settled(element))
        case Struct(fields):
            known = (StructField(f.name, STRING if f.type == VOID else settled(f.type)) for f in fields)
            return Struct(tuple(known))
    return type


TIMESTAMP_NAMES = ("ts", "timestamp", "time")


def likely_timestamp(names: Iterable[str]) -> str | None:
    """The column that holds the time when nobody said which: one called ts, timestamp or time.

    >>> likely_timestamp(["price", "Time", "ts"]), likely_timestamp(["t", "price"])
    ('ts', None)
    """
    by_name = {bare(name).casefold(): name for name in reversed(list(names))}
    return next((by_name[name] for name in TIMESTAMP_NAMES if name in by_name), None)
