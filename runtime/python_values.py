"""Columns of Arrow as the Python values that functions of users are given, and back."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence

import pyarrow as pa

_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(-?\d+)\)\Z")

TYPES: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}


def arrow_type(text: str) -> pa.DataType:
    """The type that Spark writes so.

    >>> arrow_type("ARRAY<DECIMAL(5, 2)>")
    ListType(list<item: decimal128(5, 2)>)
    """
    if text.startswith("ARRAY<"):
        return pa.list_(arrow_type(text[len("ARRAY<") : -1]))
    if size := _DECIMAL.match(text):
        return pa.decimal128(int(size[1]), int(size[2]))
    return TYPES[text]


def python_values(column: pa.Array) -> list[object]:
    """The values as the reference interpreter has them: moments in UTC, structs and maps as dictionaries.

    >>> python_values(pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32())))
    [{'a': 1}, None]
    """
    solid = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    change, found = _change(solid.type), solid.to_pylist()
    if change is None:
        return list(found)
    return [None if value is None else change(value) for value in found]


Change = Callable[..., object]


def _change(type: pa.DataType) -> Change | None:
    """What is to be done with values of a type that are not NULL; None: nothing."""
    if pa.types.is_timestamp(type):
        return None if type.tz is None else _in_utc
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        inner = _change(type.value_type)
        return None if inner is None else lambda value: [_changed(one, inner) for one in value]
    if pa.types.is_map(type):
        key, item = _change(type.key_type), _change(type.item_type)
        return lambda value: {_changed(one, key): _changed(other, item) for one, other in value}
    if pa.types.is_struct(type):
        fields = {field.name: _change(field.type) for field in type}
        return lambda value: {name: _changed(value[name], change) for name, change in fields.items()}
    return None


def _changed(value: object, change: Change | None) -> object:
    return value if value is None or change is None else change(value)


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    return value.astimezone(datetime.UTC)


def as_column(values: Sequence[object], type: str) -> pa.Array:
    """Values of a type, as a column."""
    return pa.array(values, arrow_type(type))
