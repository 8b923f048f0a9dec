"""Spark's schemas as columns of neelc, and back.

A schema is read from its JSON form, which classic sessions and Spark Connect share: no class of PySpark is
needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from neelc.files import CallError
from neelc.ir.names import bare, quote, written
from neelc.ir.program import Column
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    GEOMETRY,
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
    stored,
)
from neelc.runtime.values.times import UTC, in_zone, zone_of

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
    (re.compile(r"geometry\b.*"), GEOMETRY),
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


def described(type: DataType) -> str | dict[str, Any]:
    """What Spark's JSON says of a type, the inverse of `type_of`. `ValueError` if Python has no such values.

    >>> described(BIGINT), described(Array(Decimal(10, 2)))
    ('long', {'type': 'array', 'elementType': 'decimal(10,2)', 'containsNull': True})
    """
    match type:
        case Decimal(digits, places):
            return f"decimal({digits},{places})"
        case Array(element):
            return {"type": "array", "elementType": described(element), "containsNull": True}
        case Map(key, value):
            known = {"keyType": described(key), "valueType": described(value)}
            return {"type": "map", **known, "valueContainsNull": True}
        case Struct(fields):
            inner = [
                {"name": bare(one.name), "type": described(one.type), "nullable": True, "metadata": {}}
                for one in fields
            ]
            return {"type": "struct", "fields": inner}
    names = {kind: name for name, kind in _SIMPLE.items() if name not in ("null", "timestamp_ltz")}
    names |= {STRING: "string", DAY_INTERVAL: "interval day to second"}
    if type not in names:
        raise ValueError(
            f"a result of type {type} cannot leave Python: cast it in RETURN, as in CAST(... AS STRING)"
        )
    return names[type]


def struct_type(columns: Iterable[Column]) -> Any:
    """The columns as a `StructType` of PySpark, which is made without asking Spark."""
    from pyspark.sql.types import StructType

    fields = [
        {"name": one.name, "type": described(one.type), "nullable": True, "metadata": {}} for one in columns
    ]
    return StructType.fromJson({"type": "struct", "fields": fields})


def ddl(columns: Iterable[Column]) -> str:
    """The columns as Spark's readers take a schema.

    >>> ddl([Column("ts", BIGINT), Column("unit price", DOUBLE)])
    '`ts` BIGINT, `unit price` DOUBLE'
    """
    return ", ".join(f"{quote(column.name)} {stored(column.type)}" for column in columns)


# Rows of an engine as rows of the reference interpreter, so that all are printed alike. The local engine has
# structs by the names of their fields, Spark by their places.

TIME_ZONE = "spark.sql.session.timeZone"


@contextmanager
def clock_of(spark: Any) -> Iterator[None]:
    """What is read, evaluated and printed inside has the clock of a session of Spark."""
    name = str(spark.conf.get(TIME_ZONE))
    try:
        zone = zone_of(name)
    except ValueError:
        raise CallError(f"{TIME_ZONE}={name}: unknown time zone") from None
    with in_zone(zone):
        yield


def values_of(rows: Iterable[Sequence[Any]], columns: Sequence[Column]) -> Iterator[tuple[object, ...]]:
    """The rows with values as `neelc.catalog.readers.text` describes them."""
    types = [column.type for column in columns]
    for row in rows:
        yield tuple(value_of(value, type) for value, type in zip(row, types, strict=True))


def value_of(value: Any, type: DataType) -> object:
    """
    >>> from neelc.ir.types import INT, StructField
    >>> value_of([(1,), None], Array(Struct((StructField("x", INT),))))
    [{'x': 1}, None]
    """
    match type, value:
        case _, None:
            return None
        case Array(element), _:
            return [value_of(item, element) for item in value]
        case Struct(fields), Mapping():
            return {bare(f.name): value_of(value[bare(f.name)], f.type) for f in fields}
        case Struct(fields), _:
            return {bare(f.name): value_of(item, f.type) for f, item in zip(fields, value, strict=True)}
        case Map(of, to), _:
            return {value_of(key, of): value_of(item, to) for key, item in value.items()}
    if type == TIMESTAMP:  # PySpark gives it in the local time of this process
        return value.astimezone(UTC)
    return bytes(value) if type == BINARY else value
