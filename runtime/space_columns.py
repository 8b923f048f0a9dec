"""Functions of geometries over columns of Arrow, for Spark, DuckDB and kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neelc.runtime.failures import FailureContext
from neelc.runtime.kernels.events import NullableArray
from neelc.runtime.values.functions.space import (
    PREFIX,
    SPATIAL,
    Array,
    Truths,
    computed,
    constant,
    geometries,
    geometries_of_bytes,
    library,
    written,
)
from neelc.runtime.worker import explained

SAMPLE = 256
"""Rows by which it is decided whether texts are repeated so often that each is read once."""

TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "geometry": pa.string(),
    "binary": pa.binary(),
    "doubles": pa.list_(pa.float64()),
}
SPARK_TYPES = {
    "boolean": "BOOLEAN",
    "double": "DOUBLE",
    "geometry": "STRING",
    "binary": "BINARY",
    "doubles": "ARRAY<DOUBLE>",
}


def column_of_space(
    name: str, columns: Sequence[pa.Array], fixed: dict[int, object] | None = None
) -> pa.Array:
    """The function of columns. `fixed` are arguments that are the same in all rows, by their places.

    >>> column_of_space("st_distance", [pa.array(["POINT (3 4)", "x", None])], {1: "POINT (0 0)"}).to_pylist()
    [5.0, None, None]
    """
    constants, given = fixed or {}, iter(columns)
    count = len(columns) + len(constants)
    arguments = []
    for kind, place in zip(SPATIAL[name].takes, range(count), strict=False):
        if place in constants:
            arguments.append(_constant(constants[place]))
        else:
            arguments.append(_argument(kind, next(given)))
    rows = len(columns[0]) if columns else 1
    if not rows:
        return pa.array([], TYPES[SPATIAL[name].gives])
    found = computed(name, [(one.values, one.valid) for one in arguments])
    if SPATIAL[name].gives == "doubles":
        return _lists(*found)
    values = written(found, name)
    if SPATIAL[name].gives == "geometry":
        return pa.array(_broadcast(values, rows), pa.string(), from_pandas=True)
    return pa.array(_broadcast(values, rows), TYPES[SPATIAL[name].gives])


def _lists(values: Array, valid: Truths | None) -> pa.Array:
    places = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    absent = None if valid is None else pa.array(~valid)
    return pa.ListArray.from_arrays(places, values.reshape(-1), mask=absent)


def _broadcast(values: Array, rows: int) -> Array:
    return values if len(values) == rows else np.broadcast_to(values, rows)


def _constant(value: object) -> NullableArray:
    return NullableArray(np.array([value], object if isinstance(value, str | bytes) else float))


def _argument(kind: str, column: pa.Array) -> NullableArray:
    if kind == "g":
        return geometry_column(column)
    valid = np.asarray(column.is_valid()) if column.null_count else None
    if kind == "n":
        filled = column.fill_null(0.0) if column.null_count else column
        return NullableArray(np.asarray(filled.to_numpy(zero_copy_only=False), float), valid)
    if kind == "l":
        return NullableArray(np.fromiter(column.to_pylist(), object, len(column)), valid)
    return NullableArray(column.to_numpy(zero_copy_only=False), valid)


def geometry_column(column: pa.Array) -> NullableArray:
    """The geometries of a column of texts. A text that stands in several rows is read once.

    >>> geometry_column(pa.array(["POINT (1 2)", "?", None])).valid.tolist()
    [True, False, False]
    """
    solid = column if not pa.types.is_dictionary(column.type) else column.dictionary_decode()
    if pa.types.is_binary(solid.type) or pa.types.is_large_binary(solid.type):
        return _of_bytes(solid)
    head = solid.slice(0, SAMPLE)
    if len(solid) > 1 and len(head.unique()) * 4 <= len(head):
        coded = solid.dictionary_encode()
        few = coded.dictionary.to_numpy(zero_copy_only=False)
        known = np.empty(len(few) + 1, object)  # the last one is that of NULL
        known[:-1] = _read(few)
        found = known[coded.indices.fill_null(len(few)).to_numpy(zero_copy_only=False)]
    else:
        found = geometries(solid.to_numpy(zero_copy_only=False).astype(object))
    valid = ~np.asarray(library().is_missing(found))
    return NullableArray(found, None if valid.all() else valid)


_KEPT: dict[bytes, Any] = {}
"""Larger geometries that were read before, prepared: one side of a correlator comes again and again."""
MOST_KEPT = 50_000
LARGE = 64
"""Bytes of a geometry that takes longer to be read than to be looked up."""


def _of_bytes(column: pa.Array) -> NullableArray:
    values = column.to_numpy(zero_copy_only=False).astype(object)
    if column.nbytes < LARGE * len(column):
        found = geometries_of_bytes(values)
    else:
        if len(_KEPT) > MOST_KEPT:
            _KEPT.clear()
        new = list({one for one in values.tolist() if one not in _KEPT})
        if new:
            read = geometries_of_bytes(np.fromiter(new, object, len(new)))
            library().prepare(read)
            _KEPT.update(zip(new, read, strict=True))
        found = np.fromiter(map(_KEPT.__getitem__, values.tolist()), object, len(values))
    valid = ~np.asarray(library().is_missing(found))
    return NullableArray(found, None if valid.all() else valid)


def _read(few: Array) -> Array:
    """The geometries of different texts, prepared to be compared with several others."""
    if len(few) <= 16:
        return np.fromiter((constant(text) for text in few), object, len(few))
    found = geometries(few.astype(object))
    library().prepare(found)
    return found


# For Spark: functions of the session.


def declare_space(spark: Any, made: Any, names: Sequence[str]) -> None:
    """Give a session the functions of geometries that the texts of a query call. `made` is Spark's
    `arrow_udf`."""
    for name in names:
        spark.udf.register(PREFIX + name, made(_of_rows(name), SPARK_TYPES[SPATIAL[name].gives]))


def _of_rows(name: str) -> Callable[..., pa.Array]:
    def call(*columns: pa.Array) -> pa.Array:
        with explained(FailureContext(held="the rows of a query")):
            return column_of_space(name, columns)

    # Spark asks for the types of the arguments, to know that it is given arrays of Arrow.
    call.__annotations__ = {"columns": pa.Array, "return": pa.Array}
    return call
