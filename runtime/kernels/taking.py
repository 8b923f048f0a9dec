"""Take: each row with each event that may be next, or with one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.failures import KernelError
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers, Truths, part
from neelc.runtime.kernels.frontier import Frontier, chosen, contains
from neelc.runtime.kernels.measuring import StepMeasures
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.moments import EventMoments
from neelc.runtime.program import (
    ALL,
    LATEST,
    Apply,
    BetweenGroups,
    Bounds,
    ColumnValue,
    EventName,
    PatternProgram,
    Take,
    Value,
    names_of_steps,
    names_of_value,
)
from neelc.runtime.values.arithmetic import Array, equal
from neelc.runtime.values.operations import holds, seen

# The times of all segments on one line, one segment behind the other.
#
# A range of times within a segment is then a range on this line, and one binary search finds the events in
# it for all rows at once.

# All places on the line, all widths of windows and their sums and differences fit into 64 bits.
LONGEST = 2**61
FAR = 2**62


@dataclass(frozen=True, eq=False)
class Axis:
    """Where events start and end on the line, and the first and the last place of each segment.

    The last entry of `low` and `high` is for segment -1, which is all of them. A time has `ranks` places on
    the line, one for each moment; windows are measured in times.
    """

    start: Numbers
    end: Numbers
    low: Numbers
    high: Numbers
    ranks: int = 1

    def earlier(self, places: Numbers, width: int) -> Numbers:
        """The first place of the time that is `width` before that of a place.

        >>> line = Axis(*(np.zeros(0, np.int64),) * 4, ranks=10)
        >>> line.earlier(np.array([57]), 2).tolist(), line.later(np.array([57]), 2).tolist()
        ([30], [79])
        """
        if self.ranks == 1:
            return places - _clipped(width)
        return places // self.ranks * self.ranks - _clipped(width * self.ranks)

    def later(self, places: Numbers, width: int) -> Numbers:
        """The last place of the time that is `width` after that of a place."""
        if self.ranks == 1:
            return places + _clipped(width)
        return places // self.ranks * self.ranks + _clipped((width + 1) * self.ranks - 1)

    def lengths(self, numbers: Numbers) -> Numbers:
        """How long events last."""
        if self.ranks == 1:
            return self.end[numbers] - self.start[numbers]
        return self.end[numbers] // self.ranks - self.start[numbers] // self.ranks


def _clipped(width: int) -> int:
    return max(-LONGEST, min(width, LONGEST))


@dataclass(frozen=True, eq=False)
class EventAxes:
    """The line of times, and that of places where events are counted; each segment's first event."""

    first: Numbers
    time: Axis
    place: Axis | None


def firsts(events: KernelEvents) -> Numbers:
    """The number of the first event of each segment that has events."""
    segment = events.segment
    return np.flatnonzero(np.concatenate(([True], segment[1:] != segment[:-1])))


def segment_limits(start: Numbers, end: Numbers, first: Numbers) -> tuple[Numbers, Numbers]:
    """The first and the last time of each segment. Imprecise events end before they start: see `relaxed`."""
    latest = np.append(first[1:], len(end)) - 1
    if end is start:
        return start[first], start[latest]
    low, high = np.minimum.reduceat(end, first), np.maximum.reduceat(end, first)
    return np.minimum(start[first], low), np.maximum(start[latest], high)


def spans(start: Numbers, end: Numbers, first: Numbers) -> NDArray[np.uint64]:
    """How long each segment is: as unsigned numbers, in which every difference fits."""
    low, high = segment_limits(start, end, first)
    return high.view(np.uint64) - low.view(np.uint64)


def groups(events: KernelEvents) -> Iterator[tuple[int, KernelEvents, EventAxes]]:
    """Parts of the events that fit on one line each, each with the number of its first event."""
    if not len(events.start):
        return
    first = firsts(events)
    lengths = spans(events.start, events.end, first)
    ranks = 1 if events.moments is None else events.moments.ranks
    longest = LONGEST // ranks
    if (lengths >= longest).any():
        number = int(np.argmax(lengths >= longest))
        message = (
            f"the events of one key are {int(lengths[number])} units of time apart, {longest - 1} is the most"
        )
        if ranks > 1:
            message += f" where THEN BY orders up to {ranks} moments of one time"
        raise KernelError("MAX_SPAN", message, int(events.segment[first[number]]))
    lengths = lengths * np.uint64(ranks) + np.uint64(ranks - 1)
    if float(lengths.astype(np.float64).sum()) + len(first) < LONGEST / 2:
        yield 0, events, timeline(events, first)
        return
    begin, total = 0, 0
    for number, length in zip(first.tolist(), lengths.tolist(), strict=True):
        if total + length + 1 > LONGEST:
            yield _group(events, begin, number)
            begin, total = number, 0
        total += length + 1
    yield _group(events, begin, len(events.start))


def _group(events: KernelEvents, begin: int, end: int) -> tuple[int, KernelEvents, EventAxes]:
    cut = part(events, begin, end)
    return begin, cut, timeline(cut, firsts(cut))


def axis(
    start: Numbers, end: Numbers, segment: Numbers, first: Numbers, moments: EventMoments | None = None
) -> Axis:
    """
    >>> import numpy as np
    >>> times = np.array([7, 9, -100, -100, -98])
    >>> line = axis(times, times, np.array([0, 0, 1, 1, 1]), np.array([0, 2]))
    >>> line.start.tolist(), line.low.tolist(), line.high.tolist()
    ([0, 2, 3, 3, 5], [0, 3, 0], [2, 5, 5])
    """
    ranks = 1 if moments is None else moments.ranks
    lengths = (spans(start, end, first).astype(np.int64) + 1) * ranks - 1
    beyond = np.cumsum(lengths + 1)
    present = segment[first]
    low = np.zeros(int(present[-1]) + 2, np.int64)
    high = low - 1
    low[present] = beyond - lengths - 1
    high[present] = beyond - 1
    high[-1] = beyond[-1] - 1
    # The shift itself may wrap around; what comes out is right again.
    earliest, _ = segment_limits(start, end, first)
    counts = np.diff(first, append=len(start))
    if moments is not None:
        begin, shift = np.repeat(earliest, counts), np.repeat(low[present], counts)
        starts = (start - begin) * ranks + moments.first_rank + shift
        ends = starts if end is start else (end - begin) * ranks + moments.last_rank + shift
        return Axis(starts, ends, low, high, ranks)
    shift = np.repeat(low[present] - earliest, counts)
    starts = start + shift
    return Axis(starts, starts if end is start else end + shift, low, high)


def timeline(events: KernelEvents, first: Numbers) -> EventAxes:
    time = axis(events.start, events.end, events.segment, first, events.moments)
    if events.first is None or events.beyond is None:
        return EventAxes(first, time, None)
    return EventAxes(first, time, axis(events.first, events.beyond, events.segment, first))


# Where the next event may lie, for each row.


@dataclass(frozen=True, eq=False)
class Room:
    """On one axis, for each row: an event starts at `start` or later and ends at `end` or earlier.

    All bounds have this form, which is what makes them cheap: whether an event is too early depends on its
    start alone, and whether it is too late on its end alone.
    """

    start: Numbers
    end: Numbers


def rooms(bounds: Bounds, frontier: Frontier, timeline: EventAxes) -> tuple[Room, Room | None]:
    """The room in times, and in places if a window counts events."""
    time = _room(bounds, frontier, timeline.time, counted=False)
    if not any(within.counted and within.events for within in bounds.within):
        return time, None
    assert timeline.place is not None, "a window counts, but the events are not counted"
    return time, _room(bounds, frontier, timeline.place, counted=True)


def _room(bounds: Bounds, frontier: Frontier, axis: Axis, counted: bool) -> Room:
    start, end = axis.low[frontier.segment], axis.high[frontier.segment]
    if not counted:
        start, end = _ordered(bounds, frontier, axis, start, end)
    for within in bounds.within:
        if within.counted == counted:
            start = np.maximum(start, axis.earlier(latest(within.events, frontier, axis), within.width))
            end = np.minimum(end, axis.later(earliest(within.events, frontier, axis), within.width))
    return Room(start, end)


def _ordered(
    bounds: Bounds, frontier: Frontier, axis: Axis, start: Numbers, end: Numbers
) -> tuple[Numbers, Numbers]:
    if bounds.after:
        start = np.maximum(start, latest(bounds.after, frontier, axis) + 1)
    if bounds.before:
        end = np.minimum(end, earliest(bounds.before, frontier, axis) - 1)
    for between in bounds.between:
        gap = _gap(between, frontier, axis)
        start, end = np.maximum(start, gap.start), np.minimum(end, gap.end)
    return start, end


def _gap(between: BetweenGroups, frontier: Frontier, axis: Axis) -> Room:
    """Between the two groups; no room where they overlap or one of them is empty."""
    one, other = between.one, between.other
    ends = latest(one, frontier, axis), latest(other, frontier, axis)
    starts = earliest(one, frontier, axis), earliest(other, frontier, axis)
    full = (ends[0] > -FAR) & (ends[1] > -FAR)
    forwards, backwards = full & (ends[0] < starts[1]), full & (ends[1] < starts[0])
    start = np.where(forwards, ends[0], np.where(backwards, ends[1], FAR))
    end = np.where(forwards, starts[1], np.where(backwards, starts[0], -FAR))
    return Room(start + 1, end - 1)


def latest(variables: tuple[EventName, ...], frontier: Frontier, axis: Axis) -> Numbers:
    """The latest end of the events of a group, -FAR where it has none."""
    result = np.full(len(frontier), -FAR)
    for numbers in _bound(variables, frontier):
        np.maximum(result, np.where(numbers < 0, -FAR, axis.end[numbers]), out=result)
    return result


def earliest(variables: tuple[EventName, ...], frontier: Frontier, axis: Axis) -> Numbers:
    """The earliest start of the events of a group, FAR where it has none."""
    result = np.full(len(frontier), FAR)
    for numbers in _bound(variables, frontier):
        np.minimum(result, np.where(numbers < 0, FAR, axis.start[numbers]), out=result)
    return result


def _bound(variables: tuple[EventName, ...], frontier: Frontier) -> list[Numbers]:
    return [frontier.variables[name] for name in variables if name in frontier.variables]


# The events that can be bound by a Take whatever the row has, ready to be searched.


@dataclass(frozen=True, eq=False)
class Players:
    """Events in ascending order, some of a `total`: their numbers, and where they lie on the axes."""

    total: int
    numbers: Numbers
    start: Numbers
    end: Numbers
    first: Numbers | None
    beyond: Numbers | None
    indexes: dict[str, object] = field(default_factory=dict)

    @cached_property
    def starts_beyond(self) -> Numbers:
        """The starts, and one that is later than any."""
        return np.append(self.start, FAR)

    @cached_property
    def ties_end(self) -> Numbers:
        """For each place: the place behind the players that start at the same time."""
        count = len(self.start)
        last = np.flatnonzero(self.start[1:] != self.start[:-1]) + 1
        sizes = np.diff(np.concatenate([[0], last, [count]])) if count else np.zeros(0, np.int64)
        return np.append(np.repeat(np.append(last, count)[: len(sizes)], sizes), count)

    @cached_property
    def among(self) -> Truths:
        """Of all events: which of them are these."""
        found = np.zeros(self.total, bool)
        found[self.numbers] = True
        return found

    @cached_property
    def ends_from(self) -> Numbers:
        """For each place: the first end of all events at it or after it. What lies beyond a time, lies beyond
        it from some place on."""
        return self.start if self.end is self.start else np.minimum.accumulate(self.end[::-1])[::-1]

    @cached_property
    def beyonds_from(self) -> Numbers:
        """The same in places, where events are counted."""
        assert self.beyond is not None, "events are counted"
        return np.minimum.accumulate(self.beyond[::-1])[::-1]

    @cached_property
    def soonest(self) -> Numbers:
        """For each place: where at it or after it the event is that ends first.

        Events of later segments end after all of this one: no segment looks beyond itself but from its end.
        """
        places = np.where(self.end == self.ends_from, np.arange(len(self.end)), len(self.end))
        return np.minimum.accumulate(places[::-1])[::-1]


@dataclass(frozen=True, eq=False)
class KernelSearch:
    """What all steps of a run share. `positive` is for the steps whose events are part of the match; one that
    `prunes` drops, where only existence matters, what no later step looks at."""

    program: PatternProgram
    events: KernelEvents
    timeline: EventAxes
    most_rows: int
    positive: bool = True
    prunes: bool = True
    found: dict[object, Players] = field(default_factory=dict)
    tried: list[int] = field(default_factory=lambda: [0])
    """How many lists were tried."""
    measures: StepMeasures | None = None
    """Where the steps of the program are counted, if they are."""

    def unowned(self) -> KernelSearch:
        """The same for steps inside Absent and Present."""
        return replace(self, positive=False) if self.positive else self

    @cached_property
    def is_cut(self) -> bool:
        """Does a segment have events outside of its owned range?"""
        first = self.timeline.first
        last = np.append(first[1:], len(self.events.start)) - 1
        low, high = (limit[self.events.segment[first]] for limit in self.events.owned)
        return bool((self.events.start[first] < low).any() or (self.events.start[last] >= high).any())

    def players(self, take: Take[Value]) -> Players:
        """The events that a step can bind: found once."""
        own = tuple(condition for condition in take.where if is_own(condition, take))
        members = tuple((w.counted, w.width) for w in take.bounds.within if w.member)
        owner = (
            self.positive and self.is_cut and any(o.variable == take.variable for o in self.program.outputs)
        )
        leads = owner and take.variable == self.program.leader
        key = (take.role, repr(own), members, owner, leads)
        if key not in self.found:
            self.found[key] = self._players(take, own, owner, leads)
        return self.found[key]

    def _players(self, take: Take[Value], own: tuple[Value, ...], owner: bool, leads: bool) -> Players:
        numbers = self.events.roles[take.role]
        for within in take.bounds.within:
            if within.member:
                numbers = numbers[self._length(numbers, within.counted) <= within.width]
        if owner:
            numbers = numbers[self._owned(numbers, leads)]
        for condition in own:
            numbers = numbers[holds(condition, {take.variable: numbers}.get, self.events, len(numbers))]
        time, place = self.timeline.time, self.timeline.place
        start = time.start[numbers]
        return Players(
            len(self.events.start),
            numbers,
            start,
            time.end[numbers] if self.events.lasting else start,
            None if place is None else place.start[numbers],
            None if place is None else place.end[numbers],
        )

    def _length(self, numbers: Numbers, counted: bool) -> Numbers:
        axis = self.timeline.place if counted else self.timeline.time
        assert axis is not None, "a window counts, but the events are not counted"
        return axis.lengths(numbers)

    def _owned(self, numbers: Numbers, leader: bool) -> Truths:
        """No event of a match starts before its start, which is in the owned range."""
        low, high = self.events.owned
        start, segment = self.events.start[numbers], self.events.segment[numbers]
        owned: Truths = start >= low[segment]
        return owned & (start < high[segment]) if leader else owned


def is_own(condition: Value, take: Take[Value]) -> bool:
    """Does the condition concern no event but the one to be bound?"""
    return set(names_of_value(condition)) <= {take.variable}


# Candidates that must have a value in common with an event of the row: found by it, not tried one by one.
#
# Players are sorted by the value and then by their place. In that order the players of a range that have
# one value are a range again.

# With fewer pairs than this, or fewer than a few for each event, sorting does not pay.
LEAST_PAIRS = 100_000
LEAST_SHARE = 8


@dataclass(frozen=True, eq=False)
class ValueIndex:
    """The different values; the places of players by value; values and places as ascending numbers."""

    values: Array
    order: Numbers
    keys: Numbers


def index_of(values: Array) -> ValueIndex:
    """
    >>> import numpy as np
    >>> index = index_of(np.array([7, 5, 7, 5]))
    >>> index.values.tolist(), index.order.tolist(), index.keys.tolist()
    ([5, 7], [1, 3, 0, 2], [1, 3, 4, 6])
    """
    different, codes = np.unique(values, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return ValueIndex(different, order, codes[order] * len(values) + order)


def equation(
    step: Take[Value], frontier: Frontier, events: KernelEvents
) -> tuple[ColumnValue, ColumnValue] | None:
    """A column of the event to be bound, and one of a bound event that it must be equal to, if there is such.

    Not if the bound event is absent in some rows: then the equation requires nothing.
    """
    for condition in step.where:
        match condition:
            case Apply("=" | "agrees", (ColumnValue() as one, ColumnValue() as other)):
                own, bound = (one, other) if one.variable == step.variable else (other, one)
                kinds = {events.columns[side.name].values.dtype.kind for side in (own, bound)}
                if own.variable == step.variable and len(kinds) == 1 and _is_bound(bound, frontier):
                    return own, bound
    return None


def _is_bound(column: ColumnValue, frontier: Frontier) -> bool:
    numbers = frontier.variables.get(column.variable)
    return numbers is not None and bool((numbers >= 0).all())


def narrowed(
    step: Take[Value],
    frontier: Frontier,
    events: KernelEvents,
    players: Players,
    left: Numbers,
    right: Numbers,
) -> tuple[Numbers, Numbers, Numbers] | None:
    """An order of the players, and the ranges in it that hold all candidates; None if that does not pay."""
    pairs = int((right - left).sum())
    if not pairs or pairs < max(LEAST_PAIRS, LEAST_SHARE * (len(players.numbers) + len(frontier))):
        return None
    found = equation(step, frontier, events)
    if found is None:
        return None
    own, bound = found
    if own.name not in players.indexes:
        players.indexes[own.name] = index_of(events.columns[own.name].values[players.numbers])
    index = players.indexes[own.name]
    assert isinstance(index, ValueIndex)
    values = events.columns[bound.name].values[frontier.variables[bound.variable]]
    code = np.minimum(np.searchsorted(index.values, values), len(index.values) - 1)
    base = code * len(index.order)
    begin = np.searchsorted(index.keys, base + left)
    end = np.searchsorted(index.keys, base + right)
    return index.order, begin, np.where(equal(index.values[code], values), end, begin)


# The mark that holds which row a row of an inner table comes from. No name of a pattern is like it.
ROW = "#row"

# How many candidates of a row are tried at first where one is enough.
FIRST_TRIED = 2


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each row of the frontier the players from `left` to before `right`; not all of them may fit."""

    search: KernelSearch
    step: Take[Value]
    frontier: Frontier
    players: Players
    time: Room
    place: Room | None
    joint: tuple[Value, ...]
    left: Numbers
    right: Numbers
    order: Numbers | None = None

    def places(self, numbers: Numbers) -> Numbers:
        """Where among the players candidates are: they may be numbered in another order."""
        return numbers if self.order is None else self.order[numbers]

    @property
    def are_exact(self) -> bool:
        """Do all candidates fit?"""
        return not (self.search.events.lasting or self.step.differs or self.joint)

    def bound(self, row: Numbers, place: Numbers) -> Frontier:
        """The rows with the players at these places."""
        numbers = self.players.numbers[place]
        segment = self.search.events.segment[numbers]
        return self.frontier.take(row).bound(self.step.variable, numbers, segment)

    def fitting(self, row: Numbers, place: Numbers) -> tuple[Numbers, Numbers]:
        """Those of the pairs of a row and a player that go together."""
        if self.search.events.lasting:
            row, place = _kept(row, place, self.players.end[place] <= self.time.end[row])
            if self.place is not None and self.players.beyond is not None:
                row, place = _kept(row, place, self.players.beyond[place] <= self.place.end[row])
        for name in self.step.differs:
            row, place = _kept(row, place, _differs(self.frontier, name, row, self.players.numbers[place]))
        for condition in self.joint:
            row, place = _kept(row, place, self._holds(condition, row, place))
        return row, place

    def _holds(self, condition: Value, row: Numbers, place: Numbers) -> Truths:
        def lookup(name: EventName) -> Numbers | NullableArray | None:
            if name == self.step.variable:
                return self.players.numbers[place]
            if isinstance(name, str) and name in self.frontier.totals:
                return chosen(self.frontier.totals[name], row)
            column = self.frontier.variables.get(name)
            return None if column is None else column[row]

        return holds(condition, lookup, self.search.events, len(row))


def _kept(row: Numbers, place: Numbers, which: Truths) -> tuple[Numbers, Numbers]:
    return row[which], place[which]


def _differs(frontier: Frontier, name: EventName, row: Numbers, numbers: Numbers) -> Truths:
    """The rows in which a variable is bound to other events than these."""
    found = np.ones(len(row), bool)
    if name in frontier.variables:
        found &= frontier.variables[name][row] != numbers
    if name in frontier.lists:
        found &= ~contains(frontier.lists[name], row, numbers)
    return found


def candidates(search: KernelSearch, step: Take[Value], frontier: Frontier) -> Candidates:
    players = search.players(step)
    time, place = rooms(step.bounds, frontier, search.timeline)
    left, right = _places_in(search, step, frontier, players, time)
    if place is not None and players.first is not None and players.beyond is not None:
        upper = players.beyonds_from if search.events.lasting else players.beyond
        left = np.maximum(left, np.searchsorted(players.first, place.start, "left"))
        right = np.minimum(right, np.searchsorted(upper, place.end, "right"))
    joint = tuple(condition for condition in step.where if not is_own(condition, step))
    right = np.maximum(left, right)
    these = Candidates(search, step, frontier, players, time, place, joint, left, right)
    narrow = narrowed(step, frontier, search.events, players, left, right) if joint else None
    if narrow is None:
        return these
    order, left, right = narrow
    return replace(these, order=order, left=left, right=right)


def _places_in(
    search: KernelSearch, step: Take[Value], frontier: Frontier, players: Players, time: Room
) -> tuple[Numbers, Numbers]:
    """Where the players begin and end that a room has for each row."""
    first, latest = limits(search, step, frontier) if step.until else (None, None)
    if first is not None and len(step.until) == 1:  # only what starts as early as the first one
        left = np.searchsorted(players.start, first, "left")
        fits = (players.starts_beyond[left] == first) & (time.start <= first) & (first <= time.end)
        return left, np.where(fits, players.ties_end[left], left)
    # What ends too late may lie before what does not: a lasting event is looked at again.
    left = np.searchsorted(players.start, time.start, "left")
    right = np.searchsorted(players.ends_from, time.end, "right")
    if latest is not None:
        right = np.minimum(right, np.searchsorted(players.start, latest, "right"))
    if first is not None:
        left = np.maximum(left, np.searchsorted(players.start, first, "left"))
    return left, right


def limits(search: KernelSearch, step: Take[Value], frontier: Frontier) -> tuple[Numbers | None, Numbers]:
    """For each row, when the event starts at the earliest, if that is known, and when it must have started at
    the latest: as soon as one of `until` has come to its end."""
    found, first = np.full(len(frontier), FAR), None
    for chain in step.until:
        ends = _ends_of(search, chain, frontier)
        if chain[0].includes and not search.events.lasting:
            first = ends if first is None else np.maximum(first, ends)
        np.minimum(found, ends, out=found)
    return first, found


def _ends_of(search: KernelSearch, chain: tuple[Take[Value], ...], frontier: Frontier) -> Numbers:
    """For each row, when a chain of events has come to its end; FAR if it does not."""
    if len(chain) == 1 and is_plain(search, chain[0]):
        room, _ = rooms(chain[0].bounds, frontier, search.timeline)
        following = next_start(search.unowned(), chain[0], room)
        return np.where(following <= room.end, following, FAR)
    end = search.timeline.time.end
    rows = frontier.only(names_of_steps(chain)).marked(ROW, np.arange(len(frontier)))
    for inner in chain:
        (rows,) = take(search.unowned(), inner, rows)
    ends = np.full(len(rows), -FAR)
    for inner in chain:
        np.maximum(ends, end[rows.variables[inner.variable]], out=ends)
    found = np.full(len(frontier), FAR)
    found[rows.marks[ROW]] = ends
    return found


def take(search: KernelSearch, step: Take[Value], frontier: Frontier) -> Iterator[Frontier]:
    """The frontier after the step, in pieces."""
    these = candidates(search, step, frontier)
    if step.pick != ALL:
        yield _picked(these)
        return
    counts = these.right - these.left
    beyond = np.cumsum(counts)
    total = int(beyond[-1]) if len(beyond) else 0
    # A piece may begin and end in the midst of a row's candidates.
    for begin in range(0, total, search.most_rows):
        end = min(begin + search.most_rows, total)
        row, number = _pairs(these.left, counts, beyond, begin, end)
        yield these.bound(*these.fitting(row, these.places(number)))


def fits(
    search: KernelSearch, step: Take[Value], frontier: Frontier, known: Take[Value] | None = None
) -> Truths:
    """The rows whose event of the step's variable is one that the step would bind: a check of rows that came
    by a step that asks for less, `known`, whose demands are not checked again."""
    numbers = frontier.variables[step.variable]
    found = (numbers >= 0) & search.players(step).among[numbers]
    if known is None or known.bounds != step.bounds:
        time, place = rooms(step.bounds, frontier, search.timeline)
        found &= _inside(numbers, search.timeline.time, time)
        if place is not None and search.timeline.place is not None:
            found &= _inside(numbers, search.timeline.place, place)
    if step.until:
        found &= search.timeline.time.start[numbers] <= limits(search, step, frontier)[1]
    for name in step.differs:
        found &= _differs(frontier, name, np.arange(len(frontier)), numbers)
    met = set[Value]() if known is None else set(known.where)
    joint = [one for one in step.where if not is_own(one, step) and one not in met]
    if joint:
        row = np.flatnonzero(found)
        rows = frontier.take(row)
        for condition in joint:
            found[row] &= holds(condition, seen(rows), search.events, len(rows))
    return found


def _inside(numbers: Numbers, axis: Axis, room: Room) -> Truths:
    return (axis.start[numbers] >= room.start) & (axis.end[numbers] <= room.end)


def is_plain(search: KernelSearch, step: Take[Value]) -> bool:
    """Whether it is a matter of time alone which of the events that a step can bind go with a row."""
    by_time = not any(within.counted for within in step.bounds.within)
    others = search.events.lasting or step.differs or step.until or step.when
    return by_time and not others and all(is_own(condition, step) for condition in step.where)


def next_start(search: KernelSearch, step: Take[Value], room: Room) -> Numbers:
    """For each row, when the first event of a plain step starts that is not too early."""
    players = search.players(step)
    return players.starts_beyond[np.searchsorted(players.start, room.start)]


def occupied(search: KernelSearch, step: Take[Value], room: Room) -> Truths:
    """The rows that have an event of a plain step in their room."""
    return next_start(search, step, room) <= room.end


def _pairs(left: Numbers, counts: Numbers, beyond: Numbers, begin: int, end: int) -> tuple[Numbers, Numbers]:
    """Of all pairs of a row and one of its candidates, those from number `begin` to before `end`.

    >>> import numpy as np
    >>> row, place = _pairs(np.array([7, 0, 4]), np.array([2, 0, 3]), np.array([2, 2, 5]), 1, 4)
    >>> row.tolist(), place.tolist()
    ([0, 2, 2], [8, 4, 5])
    """
    if begin == 0 and end == beyond[-1]:
        row = np.repeat(np.arange(len(counts)), counts)
        return row, np.arange(end) + np.repeat(left - beyond + counts, counts)
    low, high = np.searchsorted(beyond, begin, "right"), np.searchsorted(beyond, end, "left") + 1
    cut = np.minimum(beyond[low:high], end) - np.maximum(beyond[low:high] - counts[low:high], begin)
    row = np.repeat(np.arange(low, high), cut)
    return row, np.arange(begin, end) + (left - beyond + counts)[row]


def _picked(these: Candidates) -> Frontier:
    """One candidate for each row that has one."""
    lasting, is_latest = these.search.events.lasting, these.step.pick == LATEST
    if these.are_exact:
        row = np.flatnonzero(these.left < these.right)
        return these.bound(row, these.right[row] - 1 if is_latest else these.left[row])
    if lasting and not (is_latest or these.step.differs or these.joint):
        return _soonest(these)
    best = _scanned(these, backwards=is_latest, through=lasting and not is_latest)
    row = np.flatnonzero(best >= 0)
    return these.bound(row, best[row])


def _soonest(these: Candidates) -> Frontier:
    """Of all that start late enough, the one that ends first: if it ends too late, all do."""
    row = np.flatnonzero(these.left < these.right)
    return these.bound(*these.fitting(row, these.players.soonest[these.left[row]]))


def _scanned(these: Candidates, backwards: bool, through: bool) -> Numbers:
    """The place of the best candidate for each row, -1 where there is none.

    Candidates are tried in their order, a few at first: rows that have one are done. If the order is not that
    of ends, `through`, all are tried, and the one that ends first is the best.
    """
    left, right = these.left.copy(), these.right.copy()
    best = np.full(len(left), -1)
    rows = np.flatnonzero(left < right)
    tried = FIRST_TRIED
    while len(rows):
        tried = max(1, min(tried, these.search.most_rows // len(rows)))
        counts = np.minimum(right[rows] - left[rows], tried)
        begins = right[rows] - counts if backwards else left[rows]
        beyond = np.cumsum(counts)
        index, number = _pairs(begins, counts, beyond, 0, int(beyond[-1]))
        row, place = these.fitting(rows[index], these.places(number))
        _improve(best, row, place, these.players.end if through else None, backwards)
        (right if backwards else left)[rows] += -counts if backwards else counts
        rows = rows[(left[rows] < right[rows]) & (through | (best[rows] < 0))]
        tried *= 4
    return best


def _improve(best: Numbers, row: Numbers, place: Numbers, ends: Numbers | None, backwards: bool) -> None:
    """Note the first candidate of each row, the last if `backwards`; with `ends` the one that ends first."""
    if ends is not None:
        order = np.lexsort((place, ends[place], row))
        row, place = row[order], place[order]
    if not len(row):
        return
    new = row[1:] != row[:-1]
    which = np.append(new, True) if backwards else np.append(True, new)
    row, place = row[which], place[which]
    if ends is not None:
        better = (best[row] < 0) | (ends[place] < ends[best[row]])
        row, place = row[better], place[better]
    best[row] = place
