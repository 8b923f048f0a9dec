"""Functions of users that take arrays and give one: called and checked in one place, for every engine.

A function is given a NumPy array for each argument: numbers and truth values as such, all else as objects. A
row in which an argument is NULL is not given to it: its result is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.user_functions import MOST_SHOWN, AggregateFailure, fitted

VectorFunction = Callable[..., Any]
Array = NDArray[Any]

NUMBERS: dict[str, Any] = {
    "BOOLEAN": np.bool_,
    "TINYINT": np.int8,
    "SMALLINT": np.int16,
    "INT": np.int32,
    "BIGINT": np.int64,
    "FLOAT": np.float32,
    "DOUBLE": np.float64,
}
"""The types whose values NumPy has."""


def vector_of(values: Sequence[object], type: str) -> Array:
    """Values of a type, none of them NULL, as an array.

    >>> vector_of([1, 2], "DOUBLE"), vector_of(["a"], "STRING")
    (array([1., 2.]), array(['a'], dtype=object))
    """
    if type in NUMBERS:
        return np.array(values, NUMBERS[type])
    return np.fromiter(values, object, len(values))


def vector_results(name: str, function: VectorFunction, type: str, arrays: Sequence[Array]) -> Array:
    """What the function gives for arrays of one length, as values of the type; None stands for NULL.

    >>> vector_results("twice", lambda x: 2 * x, "DOUBLE", [np.array([1, 2])])
    array([2., 4.])
    >>> vector_results("first", lambda x: x[:1], "DOUBLE", [np.array([1, 2])])
    Traceback (most recent call last):
    neelc.runtime.user_functions.AggregateFailure: function `first` gave 1 value for 2 rows
    """
    rows = len(arrays[0])
    if not rows:
        return np.empty(0, NUMBERS.get(type, object))
    try:
        found = function(*arrays)
    except Exception as error:
        reason = f"{error.__class__.__name__}: {error}" if str(error) else error.__class__.__name__
        raise AggregateFailure(name, f"function `{name}` raised {reason[:MOST_SHOWN]}") from error
    values = _as_array(found)
    if values.shape != (rows,):
        count = values.shape[0] if values.ndim == 1 else None
        what = f"{count} value{'s' * (count != 1)}" if count is not None else "no array of values"
        raise AggregateFailure(name, f"function `{name}` gave {what} for {rows} rows")
    return _of_type(name, values, type)


def _as_array(found: Any) -> Array:
    if hasattr(found, "to_pylist"):  # of Arrow
        return np.fromiter(found.to_pylist(), object, len(found))
    if isinstance(found, np.ma.MaskedArray):
        return np.fromiter(found.tolist(), object, len(found)) if found.ndim == 1 else np.empty(0)
    if isinstance(found, np.ndarray):
        return found
    if isinstance(found, list | tuple):
        return np.fromiter(found, object, len(found))
    return np.asarray(found)


def _of_type(name: str, values: Array, type: str) -> Array:
    kind, target = values.dtype.kind, NUMBERS.get(type)
    if target is not None:
        if kind == np.dtype(target).kind == "b":
            return values
        if kind in "iu" and np.dtype(target).kind == "i":
            limits = np.iinfo(target)
            if values.min() >= limits.min and values.max() <= limits.max:
                return values.astype(target)
        if kind in "iuf" and np.dtype(target).kind == "f":
            with np.errstate(over="ignore"):
                return values.astype(target)
    made = [_fitted(name, value, type) for value in _python(values)]
    return np.fromiter(made, object, len(made))


def _python(values: Array) -> list[object]:
    return list(values.astype(object)) if values.dtype.kind in "mM" else list(values.tolist())


def _fitted(name: str, value: object, type: str) -> object:
    try:
        return fitted(value, type)
    except (ArithmeticError, ValueError):
        shown = repr(value)[:MOST_SHOWN]
        raise AggregateFailure(name, f"function `{name}` gave {shown}, which is no {type}") from None


def values_of_call(
    name: str,
    function: VectorFunction,
    takes: Sequence[str],
    returns: str,
    columns: Sequence[Sequence[object]],
) -> list[object]:
    """The function of rows of values as Python has them.

    >>> values_of_call("same", np.equal, ["STRING", "STRING"], "BOOLEAN", [["a", "b", None], ["a", "c", "d"]])
    [True, False, None]
    """
    rows = list(zip(*columns, strict=True))
    there = [place for place, row in enumerate(rows) if None not in row]
    arrays = [
        vector_of([column[place] for place in there], type)
        for column, type in zip(columns, takes, strict=True)
    ]
    results: list[object] = [None] * len(rows)
    found = vector_results(name, function, returns, arrays).tolist()
    for place, result in zip(there, found, strict=True):
        results[place] = result
    return results


def value_of_call(
    name: str, function: VectorFunction, takes: Sequence[str], returns: str, arguments: Sequence[object]
) -> object:
    """The function of one row of values."""
    (found,) = values_of_call(name, function, takes, returns, [[argument] for argument in arguments])
    return found
