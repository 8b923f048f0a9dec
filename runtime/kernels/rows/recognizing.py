"""The matches of rows: of partitions that are complete, or of a piece of one that is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import Bools, earlier
from neelc.runtime.kernels.rows import automaton
from neelc.runtime.kernels.rows.automaton import Ints, RowMatches, Viability
from neelc.runtime.kernels.rows.backtracking import (
    ConditionEvaluator,
    Match,
    MatchPath,
    RowSearch,
    listed_matches,
)
from neelc.runtime.kernels.rows.letters import RowMasks, SearchedRows, letters, reading
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
    ranges,
    row_limits,
    time_limits,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import joint_numbers

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
        yield matches_in_lanes(program, ways, heads, count)[0]


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
        searched = SearchedRows(slice(self.known), HEAD) if self.piece.is_open else None
        self.read = reading(self.program, self.columns, HEAD, self.piece.count, searched)

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
        is_small = _is_small(program, len(viability.sets))
        if program.skip == "PAST" and is_small and kind is None:
            if self.piece.is_open:  # behind the last row anything may come
                states = np.append(states, 0)
            matches, decided = matches_past_last_row(viability, states[begin:], HEAD)
            return iter((replace(matches, start=matches.start + begin),)), begin + decided
        ways = ViablePaths(viability, states, HEAD, None if kind is None else kind * known)
        limit_starts(ways, begin, known)
        if program.skip == "NEXT" and is_small:
            several, undecided = from_every_row(ways, HEAD, known)
        else:
            matches, undecided = one_by_one(ways, HEAD, self.next_start)
            several = iter((matches,))
        return several, int(undecided[0]) if len(undecided) else known

    def _states(self, viability: Viability) -> Ints:
        return viability.states(self.letters[1], self.read.heads, backwards=True)

    def _searched(self, viability: Viability, beyond: int) -> tuple[Iterator[RowMatches], int]:
        piece, kind = self.piece, self.read.kind
        offset = None if kind is None else kind * self.known
        search = _search(self.program, self.columns, viability, self._states(viability), piece.before, offset)
        path = MatchPath(0, piece.count, piece.number + 1, self.known)
        matches, decided = search.matches_from(path, range(piece.begin, beyond), self.next_start)
        return iter((matches,)), decided


# Many partitions that all get more rows, over a stream without end.


@dataclass(frozen=True, eq=False)
class GrowingPartitions:
    """Rows, sorted, of partitions that begin at `heads` and get more rows, all of them after the time `now`.
    Matches start at rows that are not `done`. `number` is how many were found in each partition before;
    `begun` says which partitions had rows that are forgotten. Unless `in_order`, matches do not depend on
    those before them."""

    heads: Ints
    done: Bools
    number: Ints
    begun: Bools
    now: int
    in_order: bool = True

    @property
    def count(self) -> int:
        return len(self.done)

    @property
    def tails(self) -> Ints:
        return np.append(self.heads[1:], self.count)


@dataclass(frozen=True, eq=False)
class DecidedMatches:
    """Matches that are decided, and the rows from which matches may start that are not."""

    found: Iterator[RowMatches]
    waiting: Bools


def recognize_open(program: RowProgram, columns: Columns, rows: GrowingPartitions) -> DecidedMatches:
    """The matches that are decided, whatever rows come."""
    machine = program.machine
    if machine.first == machine.start:
        return _OpenSearch(program, columns, rows, np.arange(len(rows.heads))).matches()
    later = replace(program, machine=replace(machine, first=machine.start))
    fresh = _OpenSearch(program, columns, rows, np.flatnonzero(~rows.begun)).matches()
    begun = _OpenSearch(later, columns, rows, np.flatnonzero(rows.begun)).matches()
    return DecidedMatches(chain(fresh.found, begun.found), fresh.waiting | begun.waiting)


class _OpenSearch:
    """A search of some of the partitions. In each, the rows from its first that is not done on are searched,
    up to those whose conditions depend on rows to come. Among these rows partitions begin at `heads`; `rows`
    has their numbers among all."""

    def __init__(
        self, program: RowProgram, columns: Columns, partitions: GrowingPartitions, chosen: Ints
    ) -> None:
        self.program, self.columns, self.partitions = program, columns, partitions
        _, ahead = sight(program)
        begin = _first_open(partitions)[chosen]
        end = partitions.tails[chosen] - ahead
        self.waiting = np.zeros(partitions.count, dtype=np.bool_)
        self.waiting[ranges(np.maximum(begin, end), partitions.tails[chosen])[0]] = True
        self.partition = chosen[begin < end]
        self.begin, self.end = begin[begin < end], end[begin < end]
        self.rows, self.heads = ranges(self.begin, self.end)
        self.ahead = ahead

    def matches(self) -> DecidedMatches:
        if not len(self.rows):
            return DecidedMatches(iter(()), self.waiting)
        read = reading(
            self.program,
            self.columns,
            self.partitions.heads,
            self.partitions.count,
            SearchedRows(self.rows, self.heads),
        )
        found, undecided = self._searched(read)
        if self.program.skip == "NEXT" and not self.partitions.in_order:
            self.waiting[self.rows[undecided]] = True
        else:
            # All that comes behind an undecided match depends on it.
            of = np.searchsorted(self.heads, undecided, side="right") - 1
            self.waiting[ranges(self.rows[undecided], self.end[of])[0]] = True
        return DecidedMatches(map(self._moved, found), self.waiting)

    def _searched(self, read: RowMasks) -> tuple[Iterator[RowMatches], Ints]:
        """Matches, and rows from which it is undecided, both by numbers among the rows that are searched."""
        program, count = self.program, len(self.rows)
        has_window = program.reach is not None or program.rows is not None
        many, every = len(self.heads) > automaton.FEW, program.skip == "NEXT"
        if has_window and not program.conditions and _is_small(program, len(read.masks)):
            limits, hope = self._windows()
            if many or (every and are_short(limits)):
                return self._together(WindowedPaths(program.machine, read, self.heads, limits, hope))
        alphabet, masks = letters(read.masks)
        viability = Viability(program.machine, alphabet, is_open=True)
        states = viability.states(masks, read.heads, backwards=True)
        offset = None if read.kind is None else read.kind * count
        if has_window or program.conditions:
            return self._one_by_one(viability, states, offset)
        viable = ViablePaths(viability, states, self.heads, offset)
        if (many or every) and _is_small(program, len(viability.sets)):
            return self._together(viable)
        matches, undecided = one_by_one(viable, self.heads, next_start_of(program))
        return iter((matches,)), undecided

    def _together(self, ways: RowPaths) -> tuple[Iterator[RowMatches], Ints]:
        program, heads, count = self.program, self.heads, len(self.rows)
        if program.skip == "NEXT":
            is_new = ~self.partitions.done[self.rows[ways.starts]]
            if not is_new.all():
                ways.starts, ways.begins = ways.starts[is_new], ways.begins[is_new]
            return from_every_row(ways, heads, count, self.partitions.in_order)
        matches, undecided = matches_in_lanes(program, ways, heads, count)
        return iter((matches,)), undecided

    def _windows(self) -> tuple[Ints, Ints]:
        """How far a match from each row may reach among the rows that have come, and with those to come."""
        program, count = self.program, len(self.rows)
        if program.rows is not None:
            rows = np.arange(count)
            return row_limits(self.heads, count, program.rows), rows + (program.rows - 1)
        limits = self._time_limits()
        return limits, np.where(self._is_closed, limits, np.iinfo(np.int32).max - 1)

    def _time_limits(self) -> Ints:
        """The last row that is inside the window from each row. All rows have a time, so it is found faster
        than where some have none."""
        reach, count = self.program.reach, len(self.rows)
        assert reach is not None
        number = joint_numbers(self._each(np.arange(len(self.heads))), self._time, reach)
        if number is None:
            return time_limits(self._time, np.ones(count, dtype=np.bool_), self.heads, reach)
        return np.searchsorted(number, number + reach, side="right") - 1

    @cached_property
    def _time(self) -> Ints:
        return np.asarray(self.columns[TIME]).astype(np.int64, copy=False)[self.rows]

    @cached_property
    def _is_closed(self) -> Bools:
        """The rows from which no match can take a row to come."""
        program = self.program
        if program.reach is None:
            if program.rows is None:
                return np.zeros(len(self.rows), dtype=np.bool_)
            return np.arange(len(self.rows)) + program.rows <= self._each(
                np.append(self.heads[1:], len(self.rows))
            )
        if not self.ahead:
            return self._time <= earlier(self.partitions.now, program.reach)
        # There are rows behind those that are searched: the window is closed if they are outside of it.
        beyond = np.asarray(self.columns[TIME]).astype(np.int64, copy=False)[self.end]
        distance = self._each(beyond).view(np.uint64) - self._time.view(np.uint64)
        return distance > np.uint64(program.reach)

    def _each(self, of_partitions: Ints) -> Ints:
        """For each row the value of its partition."""
        return np.repeat(of_partitions, self.end - self.begin)

    def _one_by_one(
        self, viability: Viability, states: Ints, offset: Ints | None
    ) -> tuple[Iterator[RowMatches], Ints]:
        """Here rows have their numbers among all, as conditions look at others than those searched."""
        shift = np.zeros(self.partitions.count, dtype=np.int64)
        shift[self.rows] = np.arange(len(self.rows)) - self.rows + (0 if offset is None else offset)
        search = _search(self.program, self.columns, viability, states, offset=shift)
        rule, partitions = next_start_of(self.program), self.partitions
        heads, tails = partitions.heads[self.partition], partitions.tails[self.partition]
        closed = self.begin + np.add.reduceat(self._is_closed.astype(np.int64), self.heads)
        found: list[Match] = []
        undecided: list[int] = []
        numbers = partitions.number[self.partition] + 1
        columns = (heads, tails, numbers, self.end, closed, self.begin)
        for head, tail, number, end, until, begin in zip(*(one.tolist() for one in columns), strict=True):
            path = MatchPath(head, tail, number, end, until)
            for rows in self._starts(begin, path.known):
                stopped = search.collect(path, rows, rule, found)
                if stopped < rows.stop:
                    undecided.append(stopped)
        place = np.zeros(partitions.count, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        matches = listed_matches([(int(place[row]), places) for row, places in found], self.heads)
        return iter((matches,)), place[np.array(undecided, dtype=np.int64)]

    def _starts(self, begin: int, end: int) -> Iterator[range]:
        """The rows from which matches may start, together as far as they depend on each other."""
        if self.program.skip == "NEXT" and not self.partitions.in_order:
            done = self.partitions.done[begin:end]
            return (range(row, row + 1) for row in (begin + np.flatnonzero(~done)).tolist())
        return iter((range(begin, end),))

    def _moved(self, found: RowMatches) -> RowMatches:
        """Matches with the numbers of rows among all."""
        of = self.partition[np.searchsorted(self.heads, found.start, side="right") - 1]
        number = found.number + self.partitions.number[of]
        return RowMatches(self.rows[found.start], found.length, found.places, number)


def _first_open(partitions: GrowingPartitions) -> Ints:
    """For each partition the first row that is not done, or its end."""
    rows = np.where(partitions.done, partitions.count, np.arange(partitions.count))
    return np.minimum(np.minimum.reduceat(rows, partitions.heads), partitions.tails)


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
