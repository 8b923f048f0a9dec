"""The values that are valid in each stretch of time, for functions of users: these see all of them anew."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neelc.runtime.algebra.stretches import Stretches
from neelc.runtime.failures import MAX_LISTS, Facts, KernelFailure

MOST_LISTED = 20_000_000
"""Values in the lists of one call. A window of n events has n for each of them."""


def listed(stretches: Stretches, column: pa.Array) -> pa.Array:
    """For each stretch the list of the values of its valid rows, NULLs included.

    >>> from neelc.runtime.algebra.stretches import stretches
    >>> found = stretches(np.array([0, 0]), np.array([1, 2]), np.array([4, 5]))
    >>> listed(found, pa.array(["a", None])).to_pylist()
    [['a'], ['a', None], [None]]
    """
    first, beyond = stretches.covered
    lengths = np.maximum(beyond - first, 0)
    total = int(lengths.sum())
    if total > MOST_LISTED:
        message = (
            f"functions of users are given {total} values, those of all valid events at every instant, "
            f"which is more than {MOST_LISTED}; a shorter window has fewer"
        )
        raise KernelFailure(Facts(MAX_LISTS, message, limit=MOST_LISTED, number=total))
    rows = np.repeat(np.arange(len(first)), lengths)
    within = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    instant = first[rows] + within
    values = column.take(pa.array(rows[np.argsort(instant, kind="stable")]))
    counts = np.bincount(instant, minlength=len(stretches.instants))[stretches.place]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)
