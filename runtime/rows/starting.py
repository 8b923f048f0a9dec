"""Conditions about the first row of a match and the current one.

Where all conditions on the path are of this kind, what is possible at a row depends on the row at which the
match began, and on nothing else of its path. And a comparison of the two, `B AS x < FIRST(x)`, says of many
rows that no match from them can ever take a B: those below which no later row lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neelc.runtime.kernels.logic import COMPARISONS
from neelc.runtime.program import Apply, Column
from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.program import Condition, Looked, RowProgram, is_current, is_first_row
from neelc.runtime.segments import Bools

LONG = 1_000
"""In shorter partitions it is not worth asking which rows can be the first ones."""

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


def _comparisons(program: RowProgram, condition: Condition) -> Iterator[tuple[str, str, str]]:
    """What the condition requires of the current row's column: an operation, the first row's column, and its
    own."""
    looked = dict(zip(condition.names, condition.looked, strict=True))
    pending = [condition.expression]
    while pending:
        match pending.pop():
            case Apply("and", operands):
                pending.extend(operands)
            case Apply(operation, (Column(name=left), Column(name=right))) if operation in TURNED:
                for one, other, asked in ((left, right, operation), (right, left, TURNED[operation])):
                    here, there = looked[one], looked[other]
                    if _is_plain(here) and _is_plain(there) and here.at is not None and there.at is not None:
                        is_here = is_current(here.at, condition.variable) and not here.at.shift
                        if is_here and is_first_row(there.at, program.machine) and not there.at.shift:
                            yield asked, str(there.column), str(here.column)


def _is_plain(looked: Looked) -> bool:
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
