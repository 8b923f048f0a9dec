"""Aggregates of the values of lists, one by one: what a worker computes of the elements of a match."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from neelc.runtime.program import ListColumn
from neelc.runtime.user_calls import TYPES, python_values
from neelc.runtime.values.path_folds import aggregate_of
from neelc.runtime.values.types import ArrayOf, DecimalOf, MapOf, StructOf, ValueType, fit


def arrow_type_of(type: ValueType) -> pa.DataType:
    """The type of a column that holds values of a type.

    >>> arrow_type_of(StructOf((("x", DecimalOf(5, 2)), ("y", ArrayOf("int")))))
    StructType(struct<x: decimal128(5, 2), y: list<item: int32>>)
    """
    match type:
        case DecimalOf(precision, scale):
            return pa.decimal128(precision, scale)
        case ArrayOf(element):
            return pa.list_(arrow_type_of(element))
        case MapOf(key, value):
            return pa.map_(arrow_type_of(key), arrow_type_of(value))
        case StructOf(fields):
            return pa.struct([pa.field(name, arrow_type_of(inner)) for name, inner in fields])
        case "interval day to second":
            return pa.duration("us")
    assert isinstance(type, str), "all other types are names"
    return TYPES[type.upper()]


def function_of(column: ListColumn) -> Callable[[list[object]], object]:
    """What is computed of the values of a list."""
    if column.function is None:
        return lambda values: values
    return partial(aggregate_of, column.function, column.type, column.distinct)


def fitting(values: list[object], type: ValueType) -> list[object]:
    """Values as Arrow takes them."""
    match type:
        case DecimalOf():
            return [fit(value, type) for value in values]
        case MapOf():
            return [list(value.items()) if isinstance(value, dict) else value for value in values]
    return values


def aggregated(column: ListColumn, lists: pa.Array) -> pa.Array:
    """The aggregate of each of the lists; of no list NULL.

    >>> from neelc.runtime.program import ELEMENT, ColumnValue
    >>> total = ListColumn("total", ColumnValue("", "b"), ELEMENT, "bigint", "sum")
    >>> aggregated(total, pa.array([[1, None, 4], [], None])).to_pylist()
    [5, None, None]
    """
    compute = function_of(column)
    found: list[object] = []
    for one in python_values(lists):
        assert one is None or isinstance(one, list), "the column has lists"
        found.append(None if one is None else compute(one))
    return pa.array(fitting(found, column.type), arrow_type_of(column.type))
