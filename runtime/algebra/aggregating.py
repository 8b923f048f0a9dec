"""Aggregates of an Arrow column over the valid rows of each stretch of time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from neelc.runtime.algebra.distinct import count_distinct
from neelc.runtime.algebra.folds import Extreme, Floats, Moments, Sum
from neelc.runtime.algebra.listing import listed
from neelc.runtime.algebra.ordered import ordered
from neelc.runtime.algebra.program import AVERAGE, COUNT, DISTINCT, GREATEST, LEAST, LIST, SUM, Folded
from neelc.runtime.algebra.stretches import Stretches
from neelc.runtime.algebra.wholes import as_bigint, as_decimal, as_double, sums_of
from neelc.runtime.segments import Bools, Ints


def aggregate(folded: Folded, columns: Mapping[str, pa.Array], stretches: Stretches) -> pa.Array:
    """The results of an aggregate, one for each stretch. NULLs do not count; functions of users see them."""
    if folded.column is None:
        return pa.array(stretches.started - stretches.ended)
    column = columns[folded.column]
    if folded.function == LIST:
        return listed(stretches, column)
    known = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
    count = stretches.difference(known.astype(np.int64))
    match folded.function:
        case name if name == COUNT:
            return pa.array(count)
        case name if name == DISTINCT:
            return pa.array(count_distinct(stretches, ordered(column)[0], known))
        case name if name in (LEAST, GREATEST):
            return _extreme(1 if name == GREATEST else -1, column, known, count, stretches)
        case name if name in (SUM, AVERAGE) and pa.types.is_floating(column.type):
            total = _sum(column, known, stretches)
            return _doubles(total if name == SUM else _divided(total, count), count == 0)
        case name if name in (SUM, AVERAGE):
            return _exact(folded, column, count, stretches)
        case name:
            return _deviation(name, column, known, count, stretches)


def _doubles(values: Floats, empty: Bools) -> pa.Array:
    return pa.array(values, mask=empty)


def _divided(values: Floats, count: Ints) -> Floats:
    return values / np.maximum(count, 1)


def _floats(column: pa.Array, known: Bools) -> Floats:
    values = np.asarray(column.cast(pa.float64()).fill_null(0.0), dtype=np.float64)
    return np.where(known, values, 0.0)


def _sum(column: pa.Array, known: Bools, stretches: Stretches) -> Floats:
    values = _floats(column, known)
    total, _ = stretches.fold(Sum(), (values, np.zeros_like(values)))
    found: Floats = total  # type: ignore[assignment]
    return found


def _exact(folded: Folded, column: pa.Array, count: Ints, stretches: Stretches) -> pa.Array:
    limbs, empty = sums_of(stretches, column), count == 0
    divisor = count if folded.function == AVERAGE else None
    if pa.types.is_decimal(column.type):
        assert folded.decimal is not None, "a DECIMAL has a DECIMAL for its sum and its average"
        return as_decimal(limbs, empty, column.type.scale, folded.decimal, divisor)
    if divisor is None:
        return as_bigint(limbs, empty)
    return _doubles(_divided(as_double(limbs), count), empty)


def _extreme(sign: int, column: pa.Array, known: Bools, count: Ints, stretches: Stretches) -> pa.Array:
    numbers, back = ordered(column)
    fold = Extreme(sign)
    (neutral,) = fold.neutral(1)
    (found,) = stretches.fold(fold, (np.where(known, numbers, neutral),))
    values = back(found.astype(np.int64, copy=False))
    empty = count == 0
    return pa.compute.if_else(pa.array(~empty), values, None) if empty.any() else values


def _deviation(
    name: str, column: pa.Array, known: Bools, count: Ints, stretches: Stretches
) -> pa.Array:  # fmt: skip
    values = _floats(column, known)
    alone = known.astype(np.float64)
    # The square of the distance of an infinity, or of NaN, to itself is unknown, whatever it is joined with.
    own = np.where(np.isfinite(values), 0.0, np.nan)
    _, _, squares = stretches.fold(Moments(), (alone, values, own))
    divisor = count - 1 if name.endswith("_samp") else count
    variance = squares.astype(np.float64, copy=False) / np.maximum(divisor, 1)
    with np.errstate(invalid="ignore"):
        return _doubles(np.sqrt(variance) if name.startswith("stddev") else variance, divisor <= 0)
