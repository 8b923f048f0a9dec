"""Which variables each row can be mapped to, as far as that does not depend on the path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neelc.runtime import columns as segments
from neelc.runtime.coding import coded
from neelc.runtime.columns import Bools
from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.kernels.events import Numbers as EventNumbers
from neelc.runtime.kernels.rows.automaton import Ints
from neelc.runtime.kernels.rows.program import (
    ConditionValue,
    NearbyCondition,
    RowCondition,
    RowProgram,
    is_current,
    is_first_row,
    nearby_columns,
)
from neelc.runtime.program import Apply, ColumnValue, EventName
from neelc.runtime.values.arithmetic import COMPARISONS
from neelc.runtime.values.operations import holds

# Conditions about the first row of a match and the current one.
#
# Where all conditions on the path are of this kind, what is possible at a row depends on the row at which
# the match began, and not on the rest of its path. And a comparison of the two, `B AS x < FIRST(x)`, says
# of many rows that no match from them can ever take a B: those below which no later row lies.

LONG = 1_000
"""In shorter partitions it is not worth finding out which rows can be the first ones."""

Numbers = tuple[NDArray[Any], Bools]
"""Values, and which of them are not NULL."""

TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def usable(program: RowProgram, columns: Mapping[str, pa.Array], masks: Ints, heads: Ints) -> Ints | None:
    """For each row the variables that a match from there could use at all, as bits; None if that is no news.
    `masks` are the variables that each row can be mapped to; partitions are complete."""
    found = None
    tails = np.append(heads[1:], len(masks))
    long = [
        (head, tail) for head, tail in zip(heads.tolist(), tails.tolist(), strict=True) if tail - head >= LONG
    ]
    for condition in program.conditions if long else ():
        for operation, first, current in _comparisons(program, condition):
            ours, theirs = _numbers(columns[current]), _numbers(columns[first])
            if ours is None or theirs is None:
                continue
            found = np.full(len(masks), -1, dtype=np.int64) if found is None else found
            for head, tail in long:
                own = slice(head, tail)
                takes = (masks[own] >> condition.variable & 1).astype(np.bool_)
                met = _is_met_later(operation, _part(ours, own), _part(theirs, own), takes)
                found[own][~met] &= ~(1 << condition.variable)
    return found


def _comparisons(program: RowProgram, condition: RowCondition) -> Iterator[tuple[str, str, str]]:
    """What the condition requires of the current row's column: an operation, the first row's column, and its
    own."""
    looked = dict(zip(condition.names, condition.looked, strict=True))
    pending = [condition.expression]
    while pending:
        match pending.pop():
            case Apply("and", operands):
                pending.extend(operands)
            case Apply(operation, (ColumnValue(name=left), ColumnValue(name=right))) if operation in TURNED:
                for one, other, comparison in ((left, right, operation), (right, left, TURNED[operation])):
                    here, there = looked[one], looked[other]
                    if _is_plain(here) and _is_plain(there) and here.at is not None and there.at is not None:
                        is_here = is_current(here.at, condition.variable) and not here.at.shift
                        if is_here and is_first_row(there.at, program.machine) and not there.at.shift:
                            yield comparison, str(there.column), str(here.column)


def _is_plain(looked: ConditionValue) -> bool:
    return isinstance(looked.column, str)


def _numbers(column: pa.Array) -> Numbers | None:
    """The values of a column of numbers, and which are not NULL."""
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return None
    valid = np.asarray(column.is_valid())
    return np.asarray(column.fill_null(0)), valid


def _part(values: Numbers, rows: slice) -> Numbers:
    return values[0][rows], values[1][rows]


def _is_met_later(operation: str, current: Numbers, first: Numbers, takes: Bools) -> Bools:
    """For each row as the first one: whether it or a later row that is taken compares so with it.

    >>> column = np.array([5, 3, 4, 3]), np.array([True, True, True, False])
    >>> _is_met_later("<", column, column, np.array([True] * 4)).tolist()
    [True, False, False, False]
    """
    values, counts = current[0], current[1] & takes
    is_float = values.dtype.kind == "f"
    if operation in ("<", "<="):
        last = np.nan if is_float else np.iinfo(values.dtype).max
        best = np.fmin.accumulate(np.where(counts, values, last)[::-1])[::-1]  # NaN is greater than all
    else:
        last = -np.inf if is_float else np.iinfo(values.dtype).min
        best = np.maximum.accumulate(np.where(counts, values, last)[::-1])[::-1]
    found: Bools = (
        COMPARISONS[operation](best, first[0]) & first[1] & np.logical_or.accumulate(counts[::-1])[::-1]
    )
    return found


BITS = "bits"
"""The column whose bits say which variables' conditions a row meets, as far as they concern it alone."""


MOST_KINDS = 16


class RowMasks(NamedTuple):
    """Which variables rows can be mapped to, as bits. Where that depends on the first row of the match, rows
    are there several times, one time after the other: once for each of `kinds` of first rows. `kind` is that
    of each row as a first row; None if there is but one. Partitions begin at `heads`."""

    masks: Ints
    heads: Ints
    kind: Ints | None = None
    kinds: int = 1


class SearchedRows(NamedTuple):
    """Some rows of partitions that may get more rows, and where partitions begin among them."""

    rows: slice | Ints
    heads: Ints


def reading(
    program: RowProgram,
    columns: Mapping[str, pa.Array],
    heads: Ints,
    count: int,
    searched: SearchedRows | None = None,
) -> RowMasks:
    """What can be read of `count` rows; or of some of them, if more rows may come."""
    if program.flagged:
        masks = np.asarray(columns[BITS].fill_null(0)).astype(np.int64)
    else:
        masks = np.full(count, (1 << len(program.names)) - 1, dtype=np.int64)
    allowed = None
    if program.nearby or program.starting:
        values = {name: columns[name] for name in nearby_columns(program)}
        nothing = np.zeros(0, dtype=np.int64)
        events = KernelEvents(
            nothing, nothing, nothing, {}, coded(values, program.codings), (nothing, nothing)
        )
        rows = RowDistances(heads, count)
        masks = masks & _met(program.nearby, rows, events)
        if program.starting:
            allowed = _met(program.starting, rows, events)
    if searched is not None:
        masks, heads = masks[searched.rows], searched.heads
        allowed = None if allowed is None else allowed[searched.rows]
    elif program.conditions:
        allowed = _also(allowed, usable(program, columns, masks, heads))
    return RowMasks(masks, heads) if allowed is None else _by_kind(masks, heads, allowed)


def _also(allowed: Ints | None, usable: Ints | None) -> Ints | None:
    """What is both allowed and usable, unless there would be too many kinds: what is not usable is not found
    in any case, only later."""
    if usable is None:
        return allowed
    both = usable if allowed is None else allowed & usable
    return both if len(np.unique(both)) <= MOST_KINDS else allowed


def _by_kind(masks: Ints, heads: Ints, allowed: Ints) -> RowMasks:
    """Rows that can be mapped to variables as `masks` say, as far as the first row of the match allows."""
    kinds, kind = np.unique(allowed, return_inverse=True)
    return RowMasks(
        np.concatenate([masks & one for one in kinds.tolist()]),
        np.concatenate([heads + len(masks) * number for number in range(len(kinds))]),
        kind.astype(np.int64, copy=False),
        len(kinds),
    )


def _met(conditions: Sequence[NearbyCondition], rows: RowDistances, events: KernelEvents) -> Ints:
    """For each row the variables whose conditions it meets, as bits."""
    found = np.full(len(rows.own), -1, dtype=np.int64)
    for one in conditions:
        met = holds(one.condition, rows.at_distance, events, len(rows.own))
        found &= np.where(met, -1, ~(1 << one.variable))
    return found


class RowDistances:
    """The numbers of rows at a distance, -1 outside of the partition.

    >>> rows = RowDistances(np.array([0, 2]), 5)
    >>> rows.at_distance("-1").tolist(), rows.at_distance("2").tolist()
    ([-1, 0, -1, 2, 3], [-1, -1, 4, -1, -1])
    """

    def __init__(self, heads: Ints, count: int) -> None:
        self.segment = segments.numbers(heads, count)
        self.own = np.arange(count, dtype=np.int64)
        self.known: dict[int, EventNumbers] = {0: self.own}

    def at_distance(self, distance: EventName) -> EventNumbers:
        shift = int(str(distance))
        if shift not in self.known:
            self.known[shift] = self._shifted(shift)
        return self.known[shift]

    def _shifted(self, shift: int) -> EventNumbers:
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
