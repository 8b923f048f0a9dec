"""Matches where no condition depends on the path: from each row at which one can begin, the preferred choices
that can be completed, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import isqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.failures import SKIP, FailureDetails
from neelc.runtime.kernels.rows.automaton import (
    Ints,
    RowAutomaton,
    RowFailure,
    RowMatches,
    Viability,
    ViablePlaces,
    listed,
    numbered,
)
from neelc.runtime.kernels.rows.letters import RowMasks
from neelc.runtime.kernels.rows.program import ACCEPT, Choices, Machine, RowProgram
from neelc.runtime.late_dataclass import dataclass

# Matches with AFTER MATCH SKIP PAST LAST ROW where no condition depends on the path, in one pass.
#
# At each row the preferred choice that can be completed is the right one. Which it is depends on the place
# that took the row before, if any, and on what is viable: again a deterministic automaton, which reads
# forwards what the other one found backwards.

NONE = -2
"""No choice can be completed."""

UNDECIDED = -3
"""Which choice is the preferred one depends on rows that have not come yet."""

HEAD, IDLE, EMPTY, WAITS, PLACES = 0, 1, 2, 3, 4
"""States: before the first row; a row without a match; one with an empty match; one at which it is undecided
what happens. From PLACES on, place p that goes on with a match is PLACES + 2 p, and that begins one is
PLACES + 2 p + 1, so the last bit distinguishes them."""


class Preference(RowAutomaton):
    """Reads the states of `Viability`."""

    def __init__(self, viability: Viability) -> None:
        self.machine, self.sets = viability.machine, viability.sets
        super().__init__(PLACES + 2 * len(self.machine.after), len(self.sets))

    def computed(self, state: int, letter: int) -> int:
        viable = self.sets[letter]
        if state >= PLACES:
            place = choice(self.machine.after[(state - PLACES) // 2], viable)
            if place == UNDECIDED:
                return WAITS
            if place != ACCEPT:
                return PLACES + 2 * place
        place = choice(self.machine.first if state == HEAD else self.machine.start, viable)
        return {NONE: IDLE, ACCEPT: EMPTY, UNDECIDED: WAITS}.get(place, PLACES + 2 * place + 1)

    def decided(self, states: Ints, found: Ints) -> int:
        """How many rows of an open partition are decided: those before the first that is not, or before the
        match that it may belong to. Behind the last row anything may come."""
        end = len(states) - 1
        waits = np.flatnonzero(found == WAITS)
        at = int(waits[0]) if len(waits) else end
        if at == 0 or found[at - 1] < PLACES:
            return at
        after = self.machine.after[(int(found[at - 1]) - PLACES) // 2]
        if choice(after, self.sets[int(states[at])]) == ACCEPT:
            return at
        begun = np.flatnonzero(found[:at] & 1 == 1)
        return int(begun[found[begun] >= PLACES][-1])


def choice(choices: Choices, viable: ViablePlaces) -> int:
    """The preferred choice that can be completed.

    >>> ends = ViablePlaces(0b10, 0b10)
    >>> choice((0, 1, ACCEPT), ends), choice((0, ACCEPT), ends), choice((0,), ends) == NONE
    (1, -1, True)
    >>> choice((0, ACCEPT), ViablePlaces(0, 0b1)) == UNDECIDED, choice((ACCEPT, 0), ViablePlaces(0, 0b1))
    (True, -1)
    """
    for one in choices:
        if one == ACCEPT or viable.sure >> one & 1:
            return one
        if viable.possible >> one & 1:
            return UNDECIDED
    return NONE


def matches_past_last_row(viability: Viability, states: Ints, heads: Ints) -> tuple[RowMatches, int]:
    """The matches in rows that have these states of `viability`, and how many rows are decided. An open
    partition has one state more, for the row that comes next."""
    preference = Preference(viability)
    found = preference.states(states, heads, backwards=False)
    decided = len(states)
    if viability.is_open:
        decided = preference.decided(states, found)
        found = found[:decided]
    taken = found >= PLACES
    begins = np.flatnonzero((taken & (found & 1 == 1)) | (found == EMPTY))
    before = np.concatenate([[0], np.cumsum(taken)])
    lengths = np.diff(before[begins], append=before[-1])
    return RowMatches(begins, lengths, (found[taken] - PLACES) >> 1, numbered(begins, heads)), decided


NextStart = Callable[[int, list[int]], int]
"""The row at which the next match may start, after one from a row with these places."""

ROWS_AT_ONCE = 2_000_000
"""About how many rows of matches are held at the same time."""


class RowPaths(Protocol):
    """How matches go through rows: `starts` are the rows at which one can begin, `begins` the places that
    take them, ACCEPT for an empty match, UNDECIDED where that depends on rows that have not come: as they can
    if `is_open`."""

    starts: Ints
    begins: Ints
    is_open: bool

    def after(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        """The choices after places, at the next rows, of matches from `starts`."""

    def behind(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        """The same, where the next rows have not come: ACCEPT or UNDECIDED."""


def limit_starts(ways: RowPaths, first: int, beyond: int) -> None:
    """Matches begin at the row `first` or later, and before `beyond`."""
    kept = slice(*np.searchsorted(ways.starts, [first, beyond]).tolist())
    ways.starts, ways.begins = ways.starts[kept], ways.begins[kept]


class ViablePaths:
    """The ways through rows that have these states of `viability`; partitions begin at `heads`. Matches from
    rows of different kinds go through different states: `offset` says where those of each row begin."""

    def __init__(self, viability: Viability, states: Ints, heads: Ints, offset: Ints | None = None) -> None:
        self.machine, self.sets, self.states, self.offset = viability.machine, viability.sets, states, offset
        begin = np.array([choice(self.machine.start, places) for places in self.sets])
        begin_first = np.array([choice(self.machine.first, places) for places in self.sets])
        own = states if offset is None else states[np.arange(len(offset)) + offset]
        self.count = len(own)
        begins = begin[own]
        begins[heads] = begin_first[own[heads]]
        self.starts = np.flatnonzero(begins != NONE)
        self.begins = begins[self.starts]
        self.is_open = viability.is_open
        self.choices: dict[tuple[int, int], int] = {}
        self.table = np.zeros(0, dtype=np.int64)
        last = [self.choice(place, 0) for place in range(len(self.machine.after))] if self.is_open else []
        self.last = np.array(last, dtype=np.int64)

    def after(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        width = len(self.sets)
        if not len(self.table):
            self.table = np.full(len(self.machine.after) * width, 2 * NONE, dtype=np.int64)
        entries = places * width + self.states[rows if self.offset is None else rows + self.offset[starts]]
        choices: Ints = self.table[entries]
        unknown = choices == 2 * NONE
        if unknown.any():
            for one in np.unique(entries[unknown]).tolist():
                self.table[one] = self.choice(*divmod(one, width))
            choices = self.table[entries]
        return choices

    def behind(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        return self.last[places]

    def choice(self, place: int, state: int) -> int:
        """The choice after a place, at a row with a state."""
        key = (place, state)
        found = self.choices.get(key)
        if found is None:
            found = self.choices[key] = choice(self.machine.after[place], self.sets[state])
        return found


def one_by_one(ways: ViablePaths, heads: Ints, next_start: NextStart) -> tuple[RowMatches, Ints]:
    """Each match starts where `next_start` of the one before says, or later. For each partition the first row
    from which it is undecided whether one starts, if there is such a row."""
    tails, states = np.append(heads[1:], ways.count).tolist(), ways.states.tolist()
    offset = np.zeros(ways.count, dtype=np.int64) if ways.offset is None else ways.offset
    start: list[int] = []
    length: list[int] = []
    found: list[int] = []
    undecided: list[int] = []
    segment, tail, beyond = -1, 0, 0
    columns = (ways.starts, ways.begins, offset[ways.starts])
    for row, place, shift in zip(*(column.tolist() for column in columns), strict=True):
        while row >= tail:
            segment += 1
            tail = tails[segment]
        if row < beyond:
            continue
        places: list[int] = []
        at = row
        while place >= 0:
            places.append(place)
            at += 1
            if at < tail:
                place = ways.choice(place, states[at + shift])
            elif ways.is_open:
                place = ways.choice(place, 0)
            else:
                break
        if place == UNDECIDED:
            undecided.append(row)
            beyond = tail
            continue
        start.append(row)
        length.append(at - row)
        found += places
        beyond = next_start(row, places) if places else row + 1
    return listed(start, length, found, heads), np.array(undecided, dtype=np.int64)


def from_every_row(
    ways: RowPaths, heads: Ints, count: int, in_order: bool = True
) -> tuple[Iterator[RowMatches], Ints]:
    """A match from every row at which one can begin, and the rows from which that is undecided; `in_order`
    matches behind such a row, in its partition, are undecided too. All matches advance together."""
    lengths = np.zeros(len(ways.starts), dtype=np.int64)
    undecided = np.zeros(len(ways.starts), dtype=np.bool_)
    for step, matches, places in _advance(ways, heads, count, np.arange(len(ways.starts))):
        if ways.is_open:
            undecided[matches[places == UNDECIDED]] = True
        lengths[matches] = step + 1
    if in_order and undecided.any():
        undecided = _from_first(undecided, np.searchsorted(ways.starts, heads))
    waiting = ways.starts[undecided]
    if len(waiting):
        ways.starts, ways.begins, lengths = (
            ways.starts[~undecided],
            ways.begins[~undecided],
            lengths[~undecided],
        )
    return _in_parts(ways, heads, count, lengths), waiting


def _from_first(chosen: NDArray[np.bool_], begins: Ints) -> NDArray[np.bool_]:
    """In each of the segments that begin there, all from the first that is chosen on.

    >>> _from_first(np.array([0, 1, 0, 0, 0], dtype=np.bool_), np.array([0, 3, 3])).tolist()
    [False, True, True, False, False]
    """
    counts = np.concatenate([[0], np.cumsum(chosen)])
    before = np.repeat(counts[begins], np.diff(begins, append=len(chosen)))
    found: NDArray[np.bool_] = counts[1:] > before
    return found


def _in_parts(ways: RowPaths, heads: Ints, count: int, lengths: Ints) -> Iterator[RowMatches]:
    """All matches, of these lengths, some at a time."""
    number = numbered(ways.starts, heads)
    piece = np.cumsum(lengths) // ROWS_AT_ONCE
    for part in np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(piece)) + 1):
        offsets = np.cumsum(lengths[part]) - lengths[part]
        places = np.empty(int(lengths[part].sum()), dtype=np.int64)
        for step, matches, at in _advance(ways, heads, count, part):
            places[offsets[matches - part[0]] + step] = at
        yield RowMatches(ways.starts[part], lengths[part], places, number[part])


def _advance(ways: RowPaths, heads: Ints, count: int, matches: Ints) -> Iterator[tuple[int, Ints, Ints]]:
    """Row by row: the number of the row in its match, the matches that are long enough, and their places;
    those that are UNDECIDED go no further."""
    starts, places = ways.starts[matches], ways.begins[matches]
    tails = np.append(heads[1:], count)[np.searchsorted(heads, starts, side="right") - 1]
    step = 0
    while True:
        going = places != ACCEPT
        matches, starts, places, tails = (column[going] for column in (matches, starts, places, tails))
        if not len(matches):
            return
        yield step, matches, places
        step += 1
        inside = starts + step < tails
        if ways.is_open:
            inside = places != UNDECIDED
        matches, starts, places, tails = (column[inside] for column in (matches, starts, places, tails))
        places = _next(ways, places, starts + step, starts, tails)


def _next(ways: RowPaths, places: Ints, rows: Ints, starts: Ints, tails: Ints) -> Ints:
    """The choices after places, at the next rows; in an open partition those may have yet to come."""
    if not ways.is_open or (there := rows < tails).all():
        return ways.after(places, rows, starts)
    found = np.empty(len(places), dtype=np.int64)
    found[there] = ways.after(places[there], rows[there], starts[there])
    found[~there] = ways.behind(places[~there], rows[~there], starts[~there])
    return found


# AFTER MATCH SKIP: where the next match may start.


def next_start_of(program: RowProgram) -> NextStart:
    """The rule of a program; it fails where it leads nowhere."""
    match program.skip:
        case "PAST":
            return lambda row, places: row + len(places)
        case "NEXT":
            return lambda row, places: row + 1
    variables, last = program.machine.variables, program.skip == "LAST"
    targets = [program.skip_to >> variable & 1 for variable in variables]

    def next_start(row: int, places: list[int]) -> int:
        rows = (at for at, place in enumerate(places) if targets[place])
        found = max(rows, default=None) if last else next(rows, None)
        if not found:
            raise leads_nowhere(program, found is None, row)
        return row + found

    return next_start


def leads_nowhere(program: RowProgram, is_missing: bool, start: int) -> RowFailure:
    """The failure of a skip to a row that is not there, or to `start`, where the match began."""
    names = " or ".join(name for v, name in enumerate(program.names) if program.skip_to >> v & 1)
    why = (
        "no row of the match is mapped to it"
        if is_missing
        else "the next match would begin where this one does"
    )
    return RowFailure(FailureDetails(SKIP, f"AFTER MATCH SKIP TO {program.skip} {names}: {why}"), start)


# Matches one after the other in each partition, in all partitions at the same time.
#
# Each partition is a lane. At each step every lane takes a row, ends its match or jumps to where the next
# one can begin; so there are about as many steps as the longest partition has rows, if matches do not
# overlap.

SEEKING = -2


@dataclass
class _Lanes:
    """For each lane: the next row and the end of its partition; the place that took the row before, or
    SEEKING; where its match started, and the row that is skipped to, -1 if there is none yet."""

    number: Ints
    row: Ints
    tail: Ints
    place: Ints
    start: Ints
    target: Ints

    def keep(self, which: Ints) -> _Lanes:
        return _Lanes(*(column[which] for column in vars(self).values()))


def matches_in_lanes(program: RowProgram, ways: RowPaths, heads: Ints, count: int) -> tuple[RowMatches, Ints]:
    """The matches of all partitions; and for each that is open the first row from which it is undecided
    whether one starts, if there is such a row."""
    run = _Run(program, ways, heads, count)
    return run.run(), np.sort(_joined(run.undecided, 1)[0])


class _Run:
    def __init__(self, program: RowProgram, ways: RowPaths, heads: Ints, count: int) -> None:
        self.program, self.ways, self.heads = program, ways, heads
        self.begin = np.full(count, SEEKING, dtype=np.int64)
        self.begin[ways.starts] = ways.begins
        # For each row the next one, itself or later, at which a match can begin.
        following = np.where(self.begin == SEEKING, count, np.arange(count))
        self.next = np.append(np.minimum.accumulate(following[::-1])[::-1], count)
        variables = program.machine.variables
        self.is_target = np.array([program.skip_to >> one & 1 for one in variables], dtype=np.bool_)
        tails, nothing = np.append(heads[1:], count), np.full(len(heads), SEEKING, dtype=np.int64)
        self.lanes = _Lanes(np.arange(len(heads)), heads.copy(), tails, nothing, heads.copy(), nothing.copy())
        self.taken: list[tuple[Ints, Ints]] = []
        self.ended: list[tuple[Ints, Ints, Ints]] = []
        self.undecided: list[tuple[Ints]] = []

    def run(self) -> RowMatches:
        while len(self.lanes.number):
            self._seek()
            self._advance()
        number, start, length = _joined(self.ended, 3)
        order = np.argsort(number, kind="stable")
        start = start[order]
        return RowMatches(start, length[order], self._places(number, length), numbered(start, self.heads))

    def _places(self, number: Ints, length: Ints) -> Ints:
        """The places of all matches that ended; those of undecided ones came last in their lanes."""
        lane, places = _joined(self.taken, 2)
        order = np.argsort(lane, kind="stable")
        if not self.undecided:
            return places[order]
        lanes = len(self.heads)
        ended = np.bincount(number, weights=length, minlength=lanes).astype(np.int64)
        taken = np.bincount(lane, minlength=lanes)
        before = np.repeat(np.cumsum(taken) - taken, taken)
        return places[order[np.arange(len(lane)) - before < ended[lane[order]]]]

    def _seek(self) -> None:
        """Lanes without a match go to the row where the next one begins, and take it, or end."""
        lanes = self.lanes
        seeking = lanes.place == SEEKING
        if not seeking.any():
            return
        row = np.where(seeking, self.next[lanes.row], lanes.row)
        there = ~seeking | (row < lanes.tail)
        lanes.row = row
        self.lanes = lanes = lanes.keep(there)
        found = np.flatnonzero(lanes.place == SEEKING)
        begin = self.begin[lanes.row[found]]
        if self.ways.is_open and (begin == UNDECIDED).any():
            self.undecided.append((lanes.row[found[begin == UNDECIDED]],))
            kept = np.ones(len(lanes.number), dtype=np.bool_)
            kept[found[begin == UNDECIDED]] = False
            self.lanes = lanes = lanes.keep(np.flatnonzero(kept))
            found = np.flatnonzero(lanes.place == SEEKING)
            begin = self.begin[lanes.row[found]]
        empty, first = found[begin == ACCEPT], found[begin != ACCEPT]
        lanes.start[found] = lanes.row[found]
        lanes.target[found] = -1
        self.ended.append((lanes.number[empty], lanes.row[empty], np.zeros(len(empty), dtype=np.int64)))
        lanes.row[empty] += 1
        self._take(first, begin[begin != ACCEPT])

    def _advance(self) -> None:
        """Lanes with a match take the next row, or end it."""
        lanes = self.lanes
        is_open, choice = self.ways.is_open, np.full(len(lanes.number), ACCEPT, dtype=np.int64)
        going = np.flatnonzero((lanes.place != SEEKING) & (is_open | (lanes.row < lanes.tail)))
        choice[going] = _next(
            self.ways, lanes.place[going], lanes.row[going], lanes.start[going], lanes.tail[going]
        )
        self._end(np.flatnonzero((lanes.place != SEEKING) & (choice == ACCEPT)))
        if is_open and (waits := choice == UNDECIDED).any():
            self.undecided.append((lanes.start[waits],))
            self.lanes, choice = lanes.keep(np.flatnonzero(~waits)), choice[~waits]
        on = np.flatnonzero(choice != ACCEPT)
        self._take(on, choice[on])

    def _take(self, which: Ints, places: Ints) -> None:
        lanes = self.lanes
        lanes.place[which] = places
        self.taken.append((lanes.number[which], places))
        aimed = self.is_target[places]
        if self.program.skip == "FIRST":
            aimed &= lanes.target[which] < 0
        lanes.target[which[aimed]] = lanes.row[which[aimed]]
        lanes.row[which] += 1

    def _end(self, which: Ints) -> None:
        lanes = self.lanes
        row, start = lanes.row[which], lanes.start[which]
        self.ended.append((lanes.number[which], start, row - start))
        lanes.place[which] = SEEKING
        if self.program.skip != "PAST":
            target = lanes.target[which]
            if (wrong := (target < 0) | (target == start)).any():
                raise leads_nowhere(self.program, bool(target[wrong][0] < 0), int(start[wrong][0]))
            lanes.row[which] = target


def _joined(pieces: Sequence[tuple[Ints, ...]], width: int) -> list[Ints]:
    if not pieces:
        return [np.zeros(0, dtype=np.int64)] * width
    return [np.concatenate(column) for column in zip(*pieces, strict=True)]


# Matches that may not reach further than a window, if no condition depends on the path.
#
# What counts is no longer whether a match can be completed, but how early: `earliest[row, place]` is the
# first row with which a match that takes a row in a place can end. It follows from the row after it, so
# partitions are read from their ends, all of them at the same time. Where windows are short, so are the
# pieces that long partitions are cut into: a window more is read behind each, as nothing further matters to
# its rows.

NEVER = np.iinfo(np.int32).max

PIECES = 24
"""Windows are short if all rows could be cut into at least this many pieces of one window."""


class WindowedPaths:
    """The ways through rows that can be read so. A match from row s ends at row `limit[s]` or before.

    In open partitions the rows to come have the numbers behind the last one, and `hope[s]` is the last row
    that a match from s could reach among them. Then a choice is sure if a match can end with rows that have
    come, and possible if it can end provided that all rows to come are as it needs them."""

    def __init__(
        self, machine: Machine, read: RowMasks, heads: Ints, limit: Ints, hope: Ints | None = None
    ) -> None:
        self.machine, self.limit = machine, limit
        self.is_open, self.hope = hope is not None, limit if hope is None else hope
        self.shortest = shortest_ends(machine) if self.is_open else []
        self.earliest = self.possible = self._earliest(read)
        if self.is_open:
            self.possible = self._possible(read, heads)
        count = len(limit)
        self.offset = None if read.kind is None else read.kind * count
        most = max((len(ways) for ways in machine.after), default=0)
        padded = [[*ways, *[NONE] * (most - len(ways))] for ways in machine.after]
        self.choices = np.array(padded, dtype=np.int64).reshape(len(machine.after), most)
        rows = np.arange(count)
        begins = self._first(machine.start, rows)
        begins[heads] = self._first(machine.first, heads)
        self.starts = np.flatnonzero(begins != NONE)
        self.begins = begins[self.starts]

    def _possible(self, read: RowMasks, heads: Ints) -> NDArray[np.int32]:
        """The first row that can end a match, one to come perhaps. It matters behind starts whose windows are
        open, which are the last ones of their partitions."""
        count = len(self.limit)
        tails = np.append(heads[1:], count)
        closed = np.concatenate([[0], np.cumsum(self.hope <= self.limit)])
        begins = np.minimum(heads + (closed[tails] - closed[heads]), tails)
        shifts = np.repeat(np.arange(read.kinds) * count, len(heads))
        begins, tails = np.tile(begins, read.kinds) + shifts, np.tile(tails, read.kinds) + shifts
        begins, tails, shifts = (one[begins < tails] for one in (begins, tails, shifts))
        rows, first = ranges(begins, tails)
        found = earliest(self.machine, read.masks[rows], first, self.shortest)
        moved = np.repeat(begins - first - shifts, tails - begins).astype(np.int32)
        possible = np.full_like(self.earliest, NEVER)
        possible[rows] = np.where(found == NEVER, NEVER, found + moved[:, None])
        return possible

    def _earliest(self, read: RowMasks) -> NDArray[np.int32]:
        count = len(self.limit)
        longest = int(np.diff(read.heads, append=len(read.masks)).max(initial=0))
        if are_short(self.limit) and longest > piece_length(len(read.masks), widest(self.limit)):
            found = earliest_in_pieces(self.machine, read.masks, read.heads, widest(self.limit))
        else:
            found = earliest(self.machine, read.masks, read.heads)
        for number in range(1, read.kinds):
            part = found[number * count : (number + 1) * count]
            part[part != NEVER] -= number * count
        return found

    def _first(self, choices: Choices, rows: Ints) -> Ints:
        """The preferred choice at each row for a match that begins there."""
        found = np.full(len(rows), NONE, dtype=np.int64)
        return self._preferred(found, [np.full(len(rows), one) for one in choices], rows, rows)

    def after(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        found = np.full(len(places), ACCEPT, dtype=np.int64)
        return self._preferred(found, list(self.choices[places].T), rows, starts)

    def _preferred(self, found: Ints, choices: Sequence[Ints], rows: Ints, starts: Ints) -> Ints:
        """The first of the choices that are possible at some rows; `found` if there is none."""
        limit, width = self.limit[starts], self.earliest.shape[1]
        read = (rows if self.offset is None else rows + self.offset[starts]) * width
        open_rows = np.flatnonzero(self.hope[starts] > limit) if self.is_open else rows[:0]
        hope = self.hope[starts[open_rows]]
        for one in reversed(choices):
            if len(open_rows):
                choice = one[open_rows]
                ends = self.possible.ravel().take(read[open_rows] + np.maximum(choice, 0))
                found[open_rows[(choice >= 0) & (ends <= hope)]] = UNDECIDED
            ends = self.earliest.ravel().take(read + np.maximum(one, 0))
            sure = (one == ACCEPT) | ((one >= 0) & (ends <= limit))
            found[sure] = one[sure]
        return found

    def behind(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        found, hope = np.full(len(places), ACCEPT, dtype=np.int64), self.hope[starts]
        shortest = np.array(self.shortest, dtype=np.int64)
        for one in reversed(self.choices[places].T):
            found[(one >= 0) & (rows + shortest[np.maximum(one, 0)] - 1 <= hope)] = UNDECIDED
            found[one == ACCEPT] = ACCEPT
        return found


def shortest_ends(machine: Machine) -> list[int]:
    """For each place the fewest rows with which a match can end that takes the next one there, NEVER if it
    cannot end.

    >>> shortest_ends(Machine((0, 1), (False, False), (0,), (0,), ((0, 1), (ACCEPT,)), (False, True)))  # A+ B
    [2, 1]
    """
    before: list[list[int]] = [[] for _ in machine.after]
    for place, ways in enumerate(machine.after):
        for one in ways:
            if one != ACCEPT:
                before[one].append(place)
    found = [1 if ACCEPT in ways else NEVER for ways in machine.after]
    ends = [place for place, rows in enumerate(found) if rows == 1]
    for place in ends:  # from the shortest to longer ones
        for earlier in before[place]:
            if found[earlier] == NEVER:
                found[earlier] = found[place] + 1
                ends.append(earlier)
    return found


def earliest(
    machine: Machine, masks: Ints, heads: Ints, behind: Sequence[int] | None = None
) -> NDArray[np.int32]:
    """For each row and place the first row that can end the match, NEVER if there is none. Rows to come, if
    partitions are open, end it `behind` rows after the last one: for each place that takes the first of them.

    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((0, 1), (ACCEPT,)), (False, True))  # A+ B
    >>> earliest(machine, np.array([0b01, 0b01, 0b11]), np.array([0])).tolist()
    [[2, 2147483647], [2, 2147483647], [2147483647, 2]]
    """
    count = len(masks)
    found = np.full((count, max(len(machine.after), 1)), NEVER, dtype=np.int32)
    if not machine.after:  # all matches are empty
        return found
    tails = np.append(heads[1:], count)
    order = np.argsort(heads - tails, kind="stable")
    active = len(heads) - np.cumsum(np.bincount(tails - heads))
    rows, beyond = tails[order] - 1, None
    if behind is not None:
        own = rows.astype(np.int32)
        beyond = [np.where(more == NEVER, NEVER, own + more).astype(np.int32) for more in behind]
    for lanes in active[active > 0].tolist():
        rows = rows[:lanes]
        letters, own = masks[rows], rows.astype(np.int32)
        ends = [_ends(machine, place, own, beyond) for place in range(len(machine.after))]
        beyond = [
            np.where(letters >> machine.variables[place] & 1, end, NEVER) for place, end in enumerate(ends)
        ]
        found[rows] = np.stack(beyond, axis=1)
        rows = rows - 1
    return found


def ranges(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The numbers of all ranges, one after the other, and where each begins among them.

    >>> rows, first = ranges(np.array([5, 9]), np.array([7, 10]))
    >>> rows.tolist(), first.tolist()
    ([5, 6, 9], [0, 2])
    """
    lengths = ends - begins
    first = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(begins - first, lengths), first


def widest(limit: Ints) -> int:
    """The rows of the longest window."""
    return int((limit - np.arange(len(limit))).max(initial=0)) + 1


def piece_length(count: int, window: int) -> int:
    """How long the pieces of long partitions are, if there are `count` rows in all."""
    return max(window, isqrt(count))


def are_short(limit: Ints) -> bool:
    return PIECES * widest(limit) <= len(limit)


def earliest_in_pieces(machine: Machine, masks: Ints, heads: Ints, window: int) -> NDArray[np.int32]:
    """`earliest`, as far as it lies inside a window of `window` rows; beyond that it may be anything later.

    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((0, 1), (ACCEPT,)), (False, True))  # A+ B
    >>> earliest_in_pieces(machine, np.array([0b01, 0b10, 0b01, 0b10]), np.array([0]), 2)[:, 0].tolist()
    [1, 2147483647, 3, 2147483647]
    """
    count = len(masks)
    length = piece_length(count, window)
    tails = np.append(heads[1:], count)
    cuts = [np.arange(head, tail, length) for head, tail in zip(heads.tolist(), tails.tolist(), strict=True)]
    begins = np.concatenate(cuts)
    last = np.repeat(tails, [len(one) for one in cuts])
    sizes = np.minimum(begins + length + window, last) - begins
    first = np.cumsum(sizes) - sizes
    moved = np.repeat(begins - first, sizes)
    rows = np.arange(len(moved)) + moved
    own = rows < np.repeat(np.minimum(begins + length, last), sizes)
    found = earliest(machine, masks[rows], first)[own]
    return np.where(found == NEVER, NEVER, found + moved[own, None]).astype(np.int32)


def _ends(
    machine: Machine, place: int, rows: NDArray[np.int32], beyond: list[NDArray[np.int32]] | None
) -> NDArray[np.int32]:
    """The first end of a match that has taken rows in a place; `beyond` has those of the rows after them."""
    ways = machine.after[place]
    if machine.ends[place] if beyond is None else ACCEPT in ways:
        return rows
    then = [] if beyond is None else [beyond[one][: len(rows)] for one in ways]
    return reduce(np.minimum, then) if then else np.full(len(rows), NEVER, dtype=np.int32)


def row_limits(heads: Ints, count: int, most: int) -> Ints:
    """The last row of each match that has at most `most` rows.

    >>> row_limits(np.array([0, 3]), 5, 2).tolist()
    [1, 2, 2, 4, 4]
    """
    return np.minimum(np.arange(count) + (most - 1), _tails(heads, count) - 1)


def time_limits(times: Ints, valid: NDArray[np.bool_], heads: Ints, reach: int) -> Ints:
    """The last row whose time differs by at most `reach` from each row's, the row before it if it has none.
    Times rise, or fall; those that are NULL come first or last.

    >>> times, valid = np.array([1, 3, 9, 5, 6]), np.array([True, True, True, True, False])
    >>> time_limits(times, valid, np.array([0, 3]), 2).tolist()
    [1, 1, 2, 3, 3]
    """
    count = len(times)
    low = np.arange(count) - 1
    high = np.where(valid, _tails(heads, count) - 1, low)
    while (low < high).any():
        middle = (low + high + 1) // 2
        later, own = times[middle], times
        apart = np.where(later >= own, later - own, own - later).view(np.uint64)
        inside = valid[middle] & (apart <= np.uint64(reach))
        low, high = np.where(inside, middle, low), np.where(inside, high, middle - 1)
        low = np.minimum(low, high)
    return low


def _tails(heads: Ints, count: int) -> Ints:
    return np.repeat(np.append(heads[1:], count), np.diff(heads, append=count))
