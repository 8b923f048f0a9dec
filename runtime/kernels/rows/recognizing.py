"""The matches of rows: of partitions that are complete, or of a piece of one that is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from neelc.runtime.kernels.rows import automaton
from neelc.runtime.kernels.rows.automaton import Ints, RowMatches, Viability
from neelc.runtime.kernels.rows.backtracking import ConditionEvaluator, MatchPath, RowSearch
from neelc.runtime.kernels.rows.letters import letters, reading
from neelc.runtime.kernels.rows.program import RowProgram, looked_columns, sight
from neelc.runtime.kernels.rows.walking import (
    RowPaths,
    ViablePaths,
    WindowedPaths,
    are_short,
    from_every_row,
    limit_starts,
    matches_in_lanes,
    matches_past_last_row,
    next_start_of,
    one_by_one,
    row_limits,
    time_limits,
)

TIME = "time"

LARGEST_TABLE = 20_000_000
"""A pattern of thousands of places meets thousands of states: what is not used of their table would fill the
memory."""

Columns = Mapping[str, pa.Array]

HEAD = np.zeros(1, dtype=np.int64)


def recognize(program: RowProgram, columns: Columns, heads: Ints, count: int) -> Iterator[RowMatches]:
    """The matches in `count` rows, sorted, whose partitions begin at `heads`; in one or more pieces."""
    read = reading(program, columns, heads, count)
    has_window = program.reach is not None or program.rows is not None
    many = len(heads) > automaton.FEW
    if has_window and not program.conditions and _is_small(program, len(read.masks)):
        limits = _limits(program, columns, heads, count)
        if many or (program.skip == "NEXT" and are_short(limits)):
            yield from _together(program, WindowedPaths(program.machine, read, heads, limits), heads, count)
            return
    alphabet, masks = letters(read.masks)
    viability = Viability(program.machine, alphabet)
    states = viability.states(masks, read.heads, backwards=True)
    offset = None if read.kind is None else read.kind * count
    if has_window or program.conditions:
        search = _search(program, columns, viability, states, offset=offset)
        yield search.matches(heads, next_start_of(program))
        return
    is_small = _is_small(program, len(viability.sets))
    if program.skip == "PAST" and is_small and offset is None:
        yield matches_past_last_row(viability, states, heads)[0]
        return
    ways = ViablePaths(viability, states, heads, offset)
    if is_small and (program.skip == "NEXT" or many):
        yield from _together(program, ways, heads, count)
    else:
        yield one_by_one(ways, heads, next_start_of(program))[0]


def _is_small(program: RowProgram, count: int) -> bool:
    return len(program.machine.after) * count <= LARGEST_TABLE


def _together(program: RowProgram, ways: RowPaths, heads: Ints, count: int) -> Iterator[RowMatches]:
    if program.skip == "NEXT":
        yield from from_every_row(ways, heads, count)[0]
    else:
        yield matches_in_lanes(program, ways, heads, count)


@dataclass(frozen=True)
class PartitionPiece:
    """A piece of one partition; `before` rows of it came earlier and are forgotten. Matches start at the
    row `begin` or later; `number` were found before. More rows may come if it is open."""

    count: int
    before: int = 0
    begin: int = 0
    number: int = 0
    is_open: bool = True


def recognize_piece(
    program: RowProgram, columns: Columns, piece: PartitionPiece
) -> tuple[Iterator[RowMatches], int]:
    """The matches of a piece that are decided, and the row from which on it is not decided where matches
    start: whatever rows come, those before it are done with."""
    if piece.before + piece.begin:
        program = replace(program, machine=replace(program.machine, first=program.machine.start))
    _, ahead = sight(program)
    known = piece.count - ahead if piece.is_open else piece.count
    if known <= piece.begin:
        return iter(()), piece.begin
    recognized = _Recognized(program, columns, piece, known)
    found, decided = recognized.windowed() if recognized.has_window else recognized.viable()
    return (replace(one, number=one.number + piece.number) for one in found), decided


@dataclass
class _Recognized:
    """The rows before `known` can be taken; those after it have been seen, but the conditions on them depend
    on further ones."""

    program: RowProgram
    columns: Columns
    piece: PartitionPiece
    known: int

    def __post_init__(self) -> None:
        self.has_window = self.program.reach is not None or self.program.rows is not None
        self.next_start = next_start_of(self.program)
        known = self.known if self.piece.is_open else None
        self.read = reading(self.program, self.columns, HEAD, self.piece.count, known)

    @cached_property
    def letters(self) -> tuple[list[int], Ints]:
        return letters(self.read.masks)

    def windowed(self) -> tuple[Iterator[RowMatches], int]:
        """A start is decided once a row has come that is outside of its window. No more than the rows inside
        can matter then: it makes no difference that others are missing."""
        program, known, begin = self.program, self.known, self.piece.begin
        limits = _limits(program, self.columns, HEAD, known)
        decided = int(np.searchsorted(limits, known - 1)) if self.piece.is_open else known
        if decided <= begin:
            return iter(()), begin
        is_small = _is_small(program, len(self.read.masks))
        if program.skip == "NEXT" and not program.conditions and is_small and are_short(limits):
            ways = WindowedPaths(program.machine, self.read, HEAD, limits)
            limit_starts(ways, begin, decided)
            return from_every_row(ways, HEAD, known)[0], decided
        return self._searched(Viability(program.machine, self.letters[0]), decided)

    def viable(self) -> tuple[Iterator[RowMatches], int]:
        program, begin, known = self.program, self.piece.begin, self.known
        viability = Viability(program.machine, self.letters[0], self.piece.is_open)
        if program.conditions:
            return self._searched(viability, known)
        states, kind = self._states(viability), self.read.kind
        count = known
        if self.piece.is_open:  # behind the last row anything may come
            states = np.pad(states.reshape(self.read.kinds, known), ((0, 0), (0, 1))).ravel()
            kind = None if kind is None else np.append(kind, 0)
            count += 1
        is_small = _is_small(program, len(viability.sets))
        if program.skip == "PAST" and is_small and kind is None:
            matches, decided = matches_past_last_row(viability, states[begin:], HEAD)
            return iter((replace(matches, start=matches.start + begin),)), begin + decided
        ways = ViablePaths(viability, states, HEAD, None if kind is None else kind * count)
        limit_starts(ways, begin, known)
        if program.skip == "NEXT" and is_small:
            several, undecided = from_every_row(ways, HEAD, count)
        else:
            matches, undecided = one_by_one(ways, HEAD, self.next_start)
            several = iter((matches,))
        return several, known if undecided is None else undecided

    def _states(self, viability: Viability) -> Ints:
        return viability.states(self.letters[1], self.read.heads, backwards=True)

    def _searched(self, viability: Viability, beyond: int) -> tuple[Iterator[RowMatches], int]:
        piece, kind = self.piece, self.read.kind
        offset = None if kind is None else kind * self.known
        search = _search(self.program, self.columns, viability, self._states(viability), piece.before, offset)
        path = MatchPath(0, piece.count, piece.number + 1, self.known)
        matches, decided = search.matches_from(path, range(piece.begin, beyond), self.next_start)
        return iter((matches,)), decided


def _search(
    program: RowProgram,
    columns: Columns,
    viability: Viability,
    states: Ints,
    before: int = 0,
    offset: Ints | None = None,
) -> RowSearch:
    evaluator = ConditionEvaluator(
        program, {name: columns[name].to_pylist() for name in looked_columns(program)}
    )
    times = columns[TIME].to_pylist() if program.reach is not None else None
    return RowSearch(program, viability, states, evaluator, times, before, offset)


def _limits(program: RowProgram, columns: Columns, heads: Ints, count: int) -> Ints:
    """How far a match from each row may reach."""
    if program.rows is not None:
        return row_limits(heads, count, program.rows)
    assert program.reach is not None
    times = columns[TIME].slice(0, count)
    valid = np.asarray(times.is_valid())
    return time_limits(np.asarray(times.fill_null(0)).astype(np.int64), valid, heads, program.reach)
