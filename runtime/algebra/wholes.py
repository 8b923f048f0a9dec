"""Exact sums of whole numbers and of DECIMALs: in limbs of 32 bits, of which 2^31 rows can be summed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa

from neelc.runtime.algebra.stretches import Stretches
from neelc.runtime.segments import Bools, Ints

_MASK = np.int64(0xFFFFFFFF)
_EXACT = Context(prec=80)


def limbs_of(column: pa.Array) -> list[Ints]:
    """The values, NULL as zero, as limbs of 32 bits, the least first; all but the last are not negative.

    >>> [limb.tolist() for limb in limbs_of(pa.array([-1, 2**33 + 5, None]))]
    [[4294967295, 5, 0], [-1, 2, 0]]
    """
    if not pa.types.is_decimal(column.type):
        values = np.asarray(column.cast(pa.int64()).fill_null(0), dtype=np.int64)
        return [values & _MASK, values >> 32]
    filled = column.fill_null(Decimal(0)).cast(pa.decimal128(38, column.type.scale))
    words = np.frombuffer(filled.buffers()[1], dtype=np.int64).reshape(-1, 2)
    words = words[filled.offset : filled.offset + len(filled)]
    low, high = words[:, 0], words[:, 1]
    return [low & _MASK, (low >> 32) & _MASK, high & _MASK, high >> 32]


def sums_of(stretches: Stretches, column: pa.Array) -> list[Ints]:
    """The sums of a column over the valid rows of each stretch, as limbs that have not been carried."""
    return [stretches.difference(limb) for limb in limbs_of(column)]


def as_bigint(limbs: Sequence[Ints], empty: Bools) -> pa.Array:
    """Sums of two limbs as BIGINT; NULL where there is no value, or where it does not fit.

    >>> limbs = np.array([2**32 + 1, 0]), np.array([1, 2**31])
    >>> as_bigint(limbs, np.array([False, False])).to_pylist()
    [8589934593, None]
    """
    low, high = limbs
    high = high + (low >> 32)
    fits = (high >= -(1 << 31)) & (high < (1 << 31))
    return pa.array((high << 32) | (low & _MASK), mask=empty | ~fits)


def as_double(limbs: Sequence[Ints]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Sums of two limbs as the nearest DOUBLE, or a neighbour of that."""
    low, high = limbs
    return (high + (low >> 32)).astype(np.float64) * 2.0**32 + (low & _MASK).astype(np.float64)


def as_decimal(
    limbs: Sequence[Ints], empty: Bools, scale: int, result: tuple[int, int], count: Ints | None = None
) -> pa.Array:
    """Sums of unscaled values as DECIMAL, divided by `count` if it is given, rounded half up; NULL where
    there is no value, or where it does not fit."""
    precision, result_scale = result
    found: list[Decimal | None] = []
    counts = [1] * len(empty) if count is None else count.tolist()
    rows = zip(empty.tolist(), counts, *(limb.tolist() for limb in limbs), strict=True)
    for is_empty, number, *parts in rows:
        total = sum(part << (32 * place) for place, part in enumerate(parts)) * 10 ** (result_scale - scale)
        rounded = 0 if is_empty else (2 * abs(total) + number) // (2 * number)
        if is_empty or rounded >= 10**precision:
            found.append(None)
        else:
            found.append(Decimal(-rounded if total < 0 else rounded).scaleb(-result_scale, _EXACT))
    return pa.array(found, type=pa.decimal128(precision, result_scale))
