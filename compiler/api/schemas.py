"""Spark's schemas as columns of neelc, and back.

A schema is read from its JSON form, which classic sessions and Spark Connect share: no class of PySpark is
needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from neelc.ir.logical import Column
from neelc.ir.names import quote, written
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
)

_SIMPLE: dict[str, DataType] = {
    "void": VOID,
    "null": VOID,
    "boolean": BOOLEAN,
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
    "decimal": Decimal(),
}

# The first form that fits. A collation belongs to a string's type; patterns compare strings by their bytes.
_FORMS: tuple[tuple[re.Pattern[str], DataType], ...] = (
    (re.compile(r"(string|char|varchar)\b.*"), STRING),
    (re.compile(r"interval (day|hour|minute|second)\b.*"), DAY_INTERVAL),
    (re.compile(r"interval (year|month)\b.*"), YEAR_INTERVAL),
)

_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


def columns_of(schema: Any) -> tuple[Column, ...]:
    """The columns of a `StructType`. Those of a type that neelc does not know are left out."""
    fields: Iterable[Mapping[str, Any]] = schema.jsonValue()["fields"]
    typed = ((field["name"], type_of(field["type"])) for field in fields)
    return tuple(Column(name, type) for name, type in typed if type is not None)


def type_of(described: str | Mapping[str, Any]) -> DataType | None:
    """The type that Spark's JSON describes; None if neelc does not know it.

    >>> str(type_of("long")), str(type_of("decimal(10,2)")), type_of("variant")
    ('BIGINT', 'DECIMAL(10, 2)', None)
    >>> str(type_of({"type": "array", "elementType": "interval day to second", "containsNull": True}))
    'ARRAY<INTERVAL DAY TO SECOND>'
    """
    if isinstance(described, str):
        if found := _DECIMAL.fullmatch(described):
            return Decimal(int(found[1]), int(found[2]))
        known = _SIMPLE.get(described)
        return known or next((type for form, type in _FORMS if form.fullmatch(described)), None)
    match described["type"]:
        case "array":
            element = type_of(described["elementType"])
            return None if element is None else Array(element)
        case "map":
            key, value = type_of(described["keyType"]), type_of(described["valueType"])
            return None if key is None or value is None else Map(key, value)
        case "struct":
            return _struct(described["fields"])
    return None


def _struct(fields: Iterable[Mapping[str, Any]]) -> Struct | None:
    found = []
    for field in fields:
        type = type_of(field["type"])
        if type is None:
            return None
        found.append(StructField(written(field["name"]), type))
    return Struct(tuple(found))


def ddl(columns: Iterable[Column]) -> str:
    """The columns as Spark's readers take a schema.

    >>> ddl([Column("ts", BIGINT), Column("unit price", DOUBLE)])
    '`ts` BIGINT, `unit price` DOUBLE'
    """
    return ", ".join(f"{quote(column.name)} {column.type}" for column in columns)
