"""Values of any type that has an order as whole numbers of the same order, and back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neelc.runtime.segments import Ints

_SIGN = np.int64(np.iinfo(np.int64).max)

Back = Callable[[Ints], pa.Array]
"""From such numbers to values."""


def ordered(column: pa.Array) -> tuple[Ints, Back]:
    """Numbers in the order of a column's values; those of NULLs say nothing. NaN is the greatest.

    >>> numbers, back = ordered(pa.array([0.5, float("nan"), -0.0, 0.0, float("-inf")]))
    >>> np.argsort(numbers, kind="stable").tolist(), back(numbers).to_pylist()
    ([4, 2, 3, 0, 1], [0.5, nan, 0.0, 0.0, -inf])
    >>> numbers, back = ordered(pa.array(["é", None, "z"]))
    >>> numbers[0] > numbers[2], back(numbers[[0]]).to_pylist()
    (np.True_, ['é'])
    """
    kind = column.type
    if pa.types.is_floating(kind):
        return _of_floats(column), lambda found: pa.array(_to_floats(found)).cast(kind)
    if pa.types.is_boolean(kind):
        values = np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False), dtype=np.int64)
        return values, lambda found: pa.array(found != 0)
    if pa.types.is_integer(kind) or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind)):
        bits = pa.int32() if kind.bit_width == 32 and not pa.types.is_integer(kind) else pa.int64()
        numbers = column.cast(bits) if pa.types.is_integer(kind) else column.view(bits)
        return np.asarray(numbers.fill_null(0)).astype(np.int64), lambda found: _narrowed(found, bits, kind)
    return _ranked(column)


def _narrowed(found: Ints, bits: pa.DataType, kind: pa.DataType) -> pa.Array:
    numbers = pa.array(found).cast(bits, safe=False)
    return numbers.cast(kind, safe=False) if pa.types.is_integer(kind) else numbers.view(kind)


def _ranked(column: pa.Array) -> tuple[Ints, Back]:
    """Text, DECIMALs and whatever else Arrow can sort: their places among the different values."""
    values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    distinct = values.drop_null().unique()
    distinct = distinct.take(pc.sort_indices(distinct))
    places = pc.index_in(values, value_set=distinct)
    numbers = np.asarray(places.fill_null(0)).astype(np.int64)
    last = max(0, len(distinct) - 1)
    # Numbers of no value at all are hidden by whoever asks; here they only must not be out of range.
    nothing = pa.nulls(1, column.type)
    source = distinct if len(distinct) else nothing
    return numbers, lambda found: source.take(pa.array(np.clip(found, 0, last)))


def _of_floats(column: pa.Array) -> Ints:
    values = np.asarray(column.cast(pa.float64()).fill_null(0.0), dtype=np.float64) + 0.0
    bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
    return np.where(bits < 0, bits ^ _SIGN, bits)


def _to_floats(numbers: Ints) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.where(numbers < 0, numbers ^ _SIGN, numbers).view(np.float64)
