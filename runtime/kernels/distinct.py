"""Rows that occur more than once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neelc.runtime.kernels.events import Numbers

LARGEST = 2**62


def codes(columns: Sequence[Numbers]) -> tuple[Numbers, int]:
    """A number for each row, the same for the same entries, and what all are less than.

    Entries are -1 or more.
    """
    code, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        choices = int(column.max(initial=-1)) + 2
        if size * choices > LARGEST:
            _, code = np.unique(code, return_inverse=True)
            size = len(code)
        code, size = code * choices + (column + 1), size * choices
    return code, size


def distinct(columns: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """A row for each of the different ones, and which of these each row is like.

    >>> import numpy as np
    >>> rows, like = distinct([np.array([5, -1, 5, 5]), np.array([1, 1, 1, 2])])
    >>> rows.tolist(), like.tolist()
    ([1, 0, 3], [1, 0, 1, 2])
    """
    code, size = codes(columns)
    if not len(code):
        return code, code
    change = code[1:] != code[:-1]
    if (code[1:] >= code[:-1]).all():
        return np.flatnonzero(np.append(True, change)), np.append(0, np.cumsum(change))
    if size <= 4 * len(code):
        where = np.full(size, -1)
        where[code[::-1]] = np.arange(len(code))[::-1]
        rows = where[where >= 0]
        where[code[rows]] = np.arange(len(rows))
        return rows, where[code]
    _, rows, like = np.unique(code, return_index=True, return_inverse=True)
    return rows, like
