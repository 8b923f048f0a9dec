"""Spark's data types, as values. Names and meanings are Spark's own."""

from __future__ import annotations

from neelc.ir.node import Node
from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class DataType(Node):
    """A Spark SQL type. `str(t)` is how Spark SQL writes it."""


@dataclass(frozen=True)
class SimpleType(DataType):
    """A type without parameters; `name` is one of `SIMPLE_TYPES`."""

    name: str


@dataclass(frozen=True)
class Decimal(DataType):
    """DECIMAL(precision, scale)."""

    precision: int = 10
    scale: int = 0


@dataclass(frozen=True)
class Array(DataType):
    """ARRAY<element>."""

    element: DataType


@dataclass(frozen=True)
class Map(DataType):
    """MAP<key, value>."""

    key: DataType
    value: DataType


@dataclass(frozen=True)
class StructField(Node):
    """One field of a STRUCT. `name` is an identifier in source form."""

    name: str
    type: DataType


@dataclass(frozen=True)
class Struct(DataType):
    """STRUCT<name: type, ...>."""

    fields: tuple[StructField, ...]


VOID = SimpleType("VOID")
BOOLEAN = SimpleType("BOOLEAN")
TINYINT = SimpleType("TINYINT")
SMALLINT = SimpleType("SMALLINT")
INT = SimpleType("INT")
BIGINT = SimpleType("BIGINT")
FLOAT = SimpleType("FLOAT")
DOUBLE = SimpleType("DOUBLE")
WHOLE_NUMBERS = (TINYINT, SMALLINT, INT, BIGINT)
STRING = SimpleType("STRING")
BINARY = SimpleType("BINARY")


@dataclass(frozen=True)
class FormattedTimestamp(DataType):
    """A TIMESTAMP that data hold as a text of a pattern: how it is read. No expression has this type."""

    pattern: str


DATE = SimpleType("DATE")
TIMESTAMP = SimpleType("TIMESTAMP")
TIMESTAMP_NTZ = SimpleType("TIMESTAMP_NTZ")
DAY_INTERVAL = SimpleType("INTERVAL DAY TO SECOND")
YEAR_INTERVAL = SimpleType("INTERVAL YEAR TO MONTH")

GEOMETRY = SimpleType("GEOMETRY")
"""A point, a line, an area or several of them. Its values are texts, WKT, in data and inside of engines."""

VARIANT = SimpleType("VARIANT")
"""Of the key and the columns in the table of many rules. No expression of a query has this type."""

SIMPLE_TYPES = {
    t.name: t
    for t in (
        VOID, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY,
        DATE, TIMESTAMP, TIMESTAMP_NTZ, DAY_INTERVAL, YEAR_INTERVAL, GEOMETRY,
    )
}  # fmt: skip

SYNONYMS = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "TEXT": "STRING",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}

WIDE = Decimal(38, 0)
"""Of counts of matches, and of sums of whole numbers over them, where there may be 2^n matches."""
SUMMAND = Decimal(28, 0)
"""What is summed up to a WIDE sum."""


# Units of time.

LENGTHS = {
    "WEEK": 7 * 86_400 * 10**9,
    "DAY": 86_400 * 10**9,
    "HOUR": 3_600 * 10**9,
    "MINUTE": 60 * 10**9,
    "SECOND": 10**9,
    "MILLISECOND": 10**6,
    "MICROSECOND": 10**3,
    "NANOSECOND": 1,
}
"""Nanoseconds in each unit of fixed length, from the longest."""

TIME_UNITS = (*reversed(LENGTHS), "MONTH", "QUARTER", "YEAR")
"""All units, the shortest first."""


def stored(type: DataType) -> DataType:
    """The type by which engines hold values of a type: a GEOMETRY is a STRING.

    >>> print(stored(Array(GEOMETRY)))
    ARRAY<STRING>
    """
    match type:
        case Array(element):
            return Array(stored(element))
        case Map(key, value):
            return Map(stored(key), stored(value))
        case Struct(fields):
            return Struct(tuple(StructField(field.name, stored(field.type)) for field in fields))
    return STRING if type == GEOMETRY else type


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
