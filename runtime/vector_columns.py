"""Functions of users over columns: of Arrow, for Spark and DuckDB, and of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neelc.runtime.failures import FailureContext
from neelc.runtime.kernels.events import NullableArray
from neelc.runtime.user_calls import arrow_type, python_values
from neelc.runtime.user_functions import needed
from neelc.runtime.vector_functions import NUMBERS, Array, VectorFunction, vector_of, vector_results
from neelc.runtime.worker import explained


def column_of_call(
    name: str, function: VectorFunction, takes: Sequence[str], returns: str, columns: Sequence[pa.Array]
) -> pa.Array:
    """The function of columns of Arrow."""
    valid = np.ones(len(columns[0]), bool)
    for column in columns:
        if column.null_count:
            valid &= np.asarray(column.is_valid())
    kept = columns if valid.all() else [column.filter(pa.array(valid)) for column in columns]
    arrays = [_vector_of_column(column, type) for column, type in zip(kept, takes, strict=True)]
    results = vector_results(name, function, returns, arrays)
    if valid.all():
        return pa.array(results, arrow_type(returns))
    places = np.full(len(valid), -1)
    places[valid] = np.arange(len(results))
    return pa.array(results, arrow_type(returns)).take(pa.array(places, mask=~valid))


def _vector_of_column(column: pa.Array, type: str) -> Array:
    if type in NUMBERS:
        return np.asarray(column.to_numpy(zero_copy_only=False)).astype(NUMBERS[type], copy=False)
    return vector_of(python_values(column), type)


def nullable_of_call(
    name: str,
    function: VectorFunction,
    takes: Sequence[str],
    returns: str,
    columns: Sequence[NullableArray],
) -> NullableArray:
    """The function of columns of a kernel; a column of one entry stands for all rows.

    >>> x = NullableArray(np.array([1, 2]), np.array([True, False]))
    >>> nullable_of_call("less", np.less, ["INT", "INT"], "BOOLEAN", [x, NullableArray(np.array([5]))])
    NullableArray(values=array([ True, False]), valid=array([ True, False]))
    """
    rows = max(len(column.values) for column in columns)
    valid = np.ones(rows, bool)
    for column in columns:
        if column.valid is not None:
            valid &= column.valid
    arrays = [
        np.broadcast_to(column.values, rows)[valid].astype(NUMBERS[type])
        for column, type in zip(columns, takes, strict=True)
    ]
    results = vector_results(name, function, returns, arrays)
    if results.dtype == object:
        there = np.array([value is not None for value in results], bool)
        valid[np.flatnonzero(valid)[~there]] = False
        results = np.array([value for value in results if value is not None], NUMBERS[returns])
    values = np.zeros(rows, NUMBERS[returns])
    values[valid] = results
    return NullableArray(values, None if valid.all() else valid)


# For Spark: functions of the session.

DeclaredCall = tuple[str, str, tuple[str, ...], str]
"""The name of a function, that by which Spark calls it, the types of its arguments and of its result."""


def declare_functions(
    spark: Any, made: Any, calls: Sequence[DeclaredCall], functions: Mapping[str, VectorFunction]
) -> None:
    """Give a session the functions that the texts of a query call. `made` is Spark's `arrow_udf`."""
    given = needed(functions, (name for name, *_ in calls))
    for name, spelled, takes, returns in calls:
        spark.udf.register(spelled, made(_column_function(name, given[name], takes, returns), returns))


def _column_function(
    name: str, function: VectorFunction, takes: tuple[str, ...], returns: str
) -> Callable[..., pa.Array]:
    def call(*columns: pa.Array) -> pa.Array:
        with explained(FailureContext(held="the rows of a query")):
            return column_of_call(name, function, takes, returns, columns)

    # Spark asks for the types of the arguments, to know that it is given arrays of Arrow.
    call.__annotations__ = {"columns": pa.Array, "return": pa.Array}
    return call
