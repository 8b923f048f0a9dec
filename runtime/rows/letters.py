"""Which variables each row can be mapped to, as far as that does not depend on the path."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from neelc.runtime import segments
from neelc.runtime.coding import coded
from neelc.runtime.kernels.events import Events, Numbers
from neelc.runtime.kernels.operations import holds
from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.program import RowProgram, nearby_columns

BITS = "bits"
"""The column whose bits say which variables' conditions a row meets, as far as they concern it alone."""


def masks(program: RowProgram, columns: Mapping[str, pa.Array], heads: Ints, count: int) -> Ints:
    """For each of `count` rows the variables whose conditions it meets, as bits."""
    if program.flagged:
        found = np.asarray(columns[BITS].fill_null(0)).astype(np.int64)
    else:
        found = np.full(count, (1 << len(program.names)) - 1, dtype=np.int64)
    if not program.nearby:
        return found
    values = {name: columns[name] for name in nearby_columns(program)}
    nothing = np.zeros(0, dtype=np.int64)
    events = Events(nothing, nothing, nothing, {}, coded(values, program.codings), (nothing, nothing))
    rows = Rows(heads, count)
    for one in program.nearby:
        met = holds(one.condition, rows.at_distance, events, count)
        found &= np.where(met, -1, ~(1 << one.variable))
    return found


class Rows:
    """The numbers of rows at a distance, -1 outside of the partition.

    >>> rows = Rows(np.array([0, 2]), 5)
    >>> rows.at_distance("-1").tolist(), rows.at_distance("2").tolist()
    ([-1, 0, -1, 2, 3], [-1, -1, 4, -1, -1])
    """

    def __init__(self, heads: Ints, count: int) -> None:
        self.segment = segments.numbers(heads, count)
        self.own = np.arange(count, dtype=np.int64)
        self.known: dict[int, Numbers] = {0: self.own}

    def at_distance(self, distance: str) -> Numbers:
        shift = int(distance)
        if shift not in self.known:
            self.known[shift] = self._shifted(shift)
        return self.known[shift]

    def _shifted(self, shift: int) -> Numbers:
        found = np.full(len(self.own), -1, dtype=np.int64)
        later, earlier = slice(abs(shift), None), slice(None, -abs(shift))
        here, there = (later, earlier) if shift < 0 else (earlier, later)
        inside = self.segment[here] == self.segment[there]
        found[here] = np.where(inside, self.own[there], -1)
        return found


def letters(bits: Ints) -> tuple[list[int], Ints]:
    """The different masks, and for each row the number of its own.

    >>> [np.array(found).tolist() for found in letters(np.array([5, 1, 5]))]
    [[1, 5], [1, 0, 1]]
    """
    most = int(bits.max()) if len(bits) else 0
    if most < 1 << 16:
        known = np.flatnonzero(np.bincount(bits, minlength=1))
        table = np.zeros(most + 1, dtype=np.int64)
        table[known] = np.arange(len(known))
        return known.tolist(), table[bits]
    masks, numbers = np.unique(bits, return_inverse=True)
    return masks.tolist(), numbers.astype(np.int64, copy=False)
