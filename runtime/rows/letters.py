"""Which variables each row can be mapped to, as far as that does not depend on the path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neelc.runtime import segments
from neelc.runtime.coding import coded
from neelc.runtime.kernels.events import Events, Numbers
from neelc.runtime.kernels.operations import holds
from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.program import Nearby, RowProgram, nearby_columns
from neelc.runtime.rows.starting import usable

BITS = "bits"
"""The column whose bits say which variables' conditions a row meets, as far as they concern it alone."""


MOST_KINDS = 16


class Reading(NamedTuple):
    """Which variables rows can be mapped to, as bits. Where that depends on the first row of the match, rows
    are there several times, one time after the other: once for each of `kinds` of first rows. `kind` is that
    of each row as a first row; None if there is but one. Partitions begin at `heads`."""

    masks: Ints
    heads: Ints
    kind: Ints | None = None
    kinds: int = 1


def reading(
    program: RowProgram,
    columns: Mapping[str, pa.Array],
    heads: Ints,
    count: int,
    known: int | None = None,
) -> Reading:
    """What can be read of `count` rows; of the first `known` of them, if more rows may come."""
    if program.flagged:
        masks = np.asarray(columns[BITS].fill_null(0)).astype(np.int64)
    else:
        masks = np.full(count, (1 << len(program.names)) - 1, dtype=np.int64)
    allowed = None
    if program.nearby or program.starting:
        values = {name: columns[name] for name in nearby_columns(program)}
        nothing = np.zeros(0, dtype=np.int64)
        events = Events(nothing, nothing, nothing, {}, coded(values, program.codings), (nothing, nothing))
        rows = Rows(heads, count)
        masks = masks & _met(program.nearby, rows, events)
        if program.starting:
            allowed = _met(program.starting, rows, events)[:known]
    if known is None and program.conditions:
        allowed = _also(allowed, usable(program, columns, masks, heads))
    return Reading(masks[:known], heads) if allowed is None else _by_kind(masks[:known], heads, allowed)


def _also(allowed: Ints | None, usable: Ints | None) -> Ints | None:
    """What is both allowed and usable, unless there would be too many kinds: what is not usable is not found
    in any case, only later."""
    if usable is None:
        return allowed
    both = usable if allowed is None else allowed & usable
    return both if len(np.unique(both)) <= MOST_KINDS else allowed


def _by_kind(masks: Ints, heads: Ints, allowed: Ints) -> Reading:
    """Rows that can be mapped to variables as `masks` say, as far as the first row of the match allows."""
    kinds, kind = np.unique(allowed, return_inverse=True)
    return Reading(
        np.concatenate([masks & one for one in kinds.tolist()]),
        np.concatenate([heads + len(masks) * number for number in range(len(kinds))]),
        kind.astype(np.int64, copy=False),
        len(kinds),
    )


def _met(conditions: Sequence[Nearby], rows: Rows, events: Events) -> Ints:
    """For each row the variables whose conditions it meets, as bits."""
    found = np.full(len(rows.own), -1, dtype=np.int64)
    for one in conditions:
        met = holds(one.condition, rows.at_distance, events, len(rows.own))
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
