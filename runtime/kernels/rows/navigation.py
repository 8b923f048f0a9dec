"""Which row each value of MEASURES is taken from.

The rows of all matches stand one after the other, `taken`; a row of the result sees its match from one of
them, its *view*: from its own for ALL ROWS PER MATCH, from the last one for ONE ROW PER MATCH.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.rows.automaton import Ints, RowMatches
from neelc.runtime.kernels.rows.program import RowLocation, RowProgram
from neelc.runtime.late_dataclass import dataclass

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class RowViews:
    """Rows of the result: `match` is the match of each, -1 for an unmatched row; `seen` its view, one of the
    rows taken, -1 if its match is empty; `row` the input row whose own columns it has."""

    match: Ints
    seen: Ints
    row: Ints


@dataclass(frozen=True)
class MappedRows:
    """The input `rows` of the taken rows that are mapped to some variables. `counts` says how many of them
    come before each taken row; the last entry is all."""

    counts: Ints
    rows: Ints


@dataclass(frozen=True)
class MatchNavigation:
    """The matches of some rows, whose partitions begin at `heads`; there are `count` rows."""

    program: RowProgram
    matches: RowMatches
    heads: Ints
    count: int

    @cached_property
    def begin(self) -> Ints:
        """The first of the taken rows of each match, and the end of all."""
        return np.concatenate([[0], np.cumsum(self.matches.length)]).astype(np.int64)

    @cached_property
    def match(self) -> Ints:
        """The match of each taken row."""
        return np.repeat(np.arange(len(self.matches.start)), self.matches.length)

    @cached_property
    def taken(self) -> Ints:
        """The numbers of the taken rows in the input."""
        offsets = self.matches.start - self.begin[:-1]
        return np.arange(len(self.matches.places)) + offsets[self.match]

    @cached_property
    def variable(self) -> Ints:
        """The variables of the taken rows."""
        return np.array(self.program.machine.variables, dtype=np.int64)[self.matches.places]

    def is_mapped(self, variables: int) -> Bools:
        """Which of the taken rows are mapped to one of the variables."""
        table = np.array([variables >> v & 1 for v in range(len(self.program.names))], dtype=np.bool_)
        return table[self.variable]

    def mapped(self, variables: int) -> MappedRows:
        """The taken rows that are mapped to the variables: computed once, for all batches of the result."""
        if variables not in self._mapped:
            is_mapped = self.is_mapped(variables)
            counts = np.zeros(len(is_mapped) + 1, dtype=np.int64)
            np.cumsum(is_mapped, out=counts[1:])
            self._mapped[variables] = MappedRows(counts, self.taken[is_mapped])
        return self._mapped[variables]

    @cached_property
    def _mapped(self) -> dict[int, MappedRows]:
        return {}

    def numbers(self, views: RowViews, variables: int, final: bool) -> tuple[Ints, Ints]:
        """For each view: the number of mapped rows before its match, and up to the last that counts."""
        counts = self.mapped(variables).counts
        known = np.maximum(views.match, 0)
        before = counts[self.begin[known]] if len(self.begin) > 1 else np.zeros_like(known)
        last = self.begin[known + 1] if final and len(self.begin) > 1 else views.seen + 1
        upto = np.where(views.seen < 0, before, counts[last])
        return before, upto

    def rows(self, views: RowViews, at: RowLocation) -> Ints:
        """The input row that each view means, -1 if there is none."""
        before, upto = self.numbers(views, at.variables, at.final)
        place = upto - 1 - at.place if at.last else before + at.place
        exists = (place >= before) & (place < upto)
        rows = np.full(len(views.match), -1, dtype=np.int64)
        rows[exists] = self.mapped(at.variables).rows[place[exists]]
        return self._shifted(rows, at.shift) if at.shift else rows

    def _shifted(self, rows: Ints, shift: int) -> Ints:
        """The rows `shift` rows later, in the same partition."""
        segment = np.searchsorted(self.heads, rows, side="right") - 1
        tails = np.append(self.heads[1:], self.count)
        moved = rows + shift
        inside = (rows >= 0) & (moved >= self.heads[segment]) & (moved < tails[segment])
        return np.where(inside, moved, -1)

    def variables_at(self, views: RowViews, rows: Ints) -> Ints:
        """The variable that an input row is mapped to in the match of each view, -1 outside of it."""
        known = np.maximum(views.match, 0)
        if len(self.begin) == 1:
            return np.full(len(rows), -1, dtype=np.int64)
        place = rows - self.matches.start[known]
        inside = (rows >= 0) & (views.match >= 0) & (place >= 0) & (place < self.matches.length[known])
        found = np.full(len(rows), -1, dtype=np.int64)
        found[inside] = self.variable[(self.begin[known] + place)[inside]]
        return found


def one_row_per_match(found: MatchNavigation) -> RowViews:
    matches = found.matches
    seen = np.where(matches.length > 0, found.begin[1:] - 1, -1)
    return RowViews(np.arange(len(matches.start)), seen, matches.start)


def all_rows_per_match(found: MatchNavigation) -> RowViews:
    """The rows of matches and, unless they are left out, the rows at which empty ones are. Rows in an
    exclusion are there: aggregates see them."""
    matches = found.matches
    match, seen, row = found.match, np.arange(len(found.match)), found.taken
    if found.program.all_rows != "OMIT":
        empty = np.flatnonzero(matches.length == 0)
        match = np.concatenate([match, empty])
        seen = np.concatenate([seen, np.full(len(empty), -1)])
        row = np.concatenate([row, matches.start[empty]])
    return RowViews(*(column.astype(np.int64, copy=False) for column in (match, seen, row)))


def unmatched_rows(rows: Ints) -> RowViews:
    nothing = np.full(len(rows), -1, dtype=np.int64)
    return RowViews(nothing, nothing, rows)
