"""Walks through a chain, counted: for a block of lanes, state by state.

Tables have a row for each place of a lane, counted from its base, and a column for each lane. A state that
does not lead to itself is filled at once, from the states before it; one that does, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.counting.chain import (
    AVERAGE,
    COUNT,
    FIRST,
    LAST,
    MAX,
    MIN,
    SOURCE,
    SUM,
    TARGET,
    Chain,
    ChainMove,
    CountingProgram,
    Tally,
)
from neelc.runtime.kernels.events import KernelEvents, Numbers, Truths
from neelc.runtime.kernels.frontier import EventLists, Frontier
from neelc.runtime.kernels.matching import matches
from neelc.runtime.kernels.running import extended, run
from neelc.runtime.kernels.taking import KernelSearch
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Apply,
    ColumnValue,
    EventName,
    PatternProgram,
    Value,
    VariableOutput,
    names_of_value,
)
from neelc.runtime.values.operations import holds

# What is known of the walks that end at an event: how many there are, what they add up to, their extremes.
#
# Each of these is a channel. A channel that adds is linear: the walks of two events together have the sum
# of their numbers. That is all that dynamic programming needs of it; extremes are the same with another
# sum.

Array = NDArray[Any]

WALKS, WEIGHTS, BLANKS, LEAST = "walks", "weights", "blanks", "least"
"""How many walks; the sum of their events' weights; how many have met no value; their least rank."""

NOTHING = np.iinfo(np.int64).max
"""The rank of nothing: greater than all others."""


@dataclass(frozen=True)
class Channel:
    """`kind` is one of the words above. All but WALKS are about the events of `stage` and a column of them,
    none: each event has the value 1. `counts`: its values are 1 where they are not NULL. LEAST of a
    `backwards` column is its greatest; if it `counts`, the least number of values, or the greatest, as a
    number below 0. If it `picks` the FIRST or LAST event of a list, others do not count."""

    kind: str
    stage: str = ""
    column: str | None = None
    counts: bool = False
    backwards: bool = False
    picks: str | None = None


def channels_of(tally: Tally) -> tuple[Channel, ...]:
    """What must be known for a tally, beside WALKS.

    >>> [channel.kind for channel in channels_of(Tally("t", AVERAGE, "c", "x"))]
    ['weights', 'blanks']
    """
    if not tally.stage:
        return ()
    if tally.function in (MIN, MAX):
        backwards = tally.function == MAX
        return (Channel(LEAST, tally.stage, tally.column, tally.counts, backwards, tally.picks),)
    weights = Channel(WEIGHTS, tally.stage, tally.column, tally.counts, picks=tally.picks)
    blanks = Channel(BLANKS, tally.stage, tally.column, picks=tally.picks)
    if tally.counts:  # how many there are is never NULL
        return (weights,) if tally.function != COUNT else ()
    return {COUNT: (blanks,), SUM: (weights, blanks), AVERAGE: (weights, blanks)}[tally.function]


@dataclass(frozen=True, eq=False)
class Material:
    """What a channel reads of each event: its weight, 0 where it is NULL; whether it is NULL; its rank, and
    which value has which rank."""

    weight: Array
    blank: NDArray[np.bool_]
    rank: Numbers
    ranked: Array

    @property
    def is_whole(self) -> bool:
        return self.weight.dtype.kind in "iu"

    @property
    def largest(self) -> float:
        """The greatest of the weights, without their signs."""
        if not self.is_whole or not len(self.weight):
            return 1.0
        return max(1.0, abs(float(self.weight.max())), abs(float(self.weight.min())))


def material(channel: Channel, events: KernelEvents) -> Material:
    """
    >>> from neelc.runtime.kernels.events import NullableArray
    >>> prices = NullableArray(np.array([2.0, 5.0, np.nan]), np.array([True, False, True]))
    >>> nowhere = np.zeros(3, np.int64)
    >>> events = KernelEvents(nowhere, nowhere, nowhere, {}, {"price": prices}, (nowhere, nowhere))
    >>> found = material(Channel(LEAST, "b", "price"), events)
    >>> found.weight.tolist(), found.blank.tolist(), (found.rank == NOTHING).tolist()
    ([0, 0, 0], [False, True, False], [False, True, False])
    """
    count = len(events.start)
    none = np.zeros(count, np.int64)
    if channel.column is None:
        return Material(np.ones(count, np.int64), np.zeros(count, bool), none, none)
    column = events.columns[channel.column]
    blank = np.zeros(count, bool) if column.valid is None else ~column.valid
    if channel.counts:
        return Material((~blank).astype(np.int64), blank, none, none)
    if channel.kind == LEAST:
        # NaN is the greatest of all numbers, for NumPy's order as for Spark's.
        ranked, rank = np.unique(column.values, return_inverse=True)
        rank = len(ranked) - 1 - rank if channel.backwards else rank
        ranked = ranked[::-1] if channel.backwards else ranked
        return Material(none, blank, np.where(blank, NOTHING, rank), ranked)
    weight = np.where(blank, column.values.dtype.type(0), column.values)
    return Material(weight.astype(np.float64 if weight.dtype.kind == "f" else np.int64), blank, none, none)


def part(found: Material, low: int, high: int) -> Material:
    """The same for the events from number `low` to before `high`."""
    return Material(found.weight[low:high], found.blank[low:high], found.rank[low:high], found.ranked)


def nothing(channel: Channel) -> int:
    """What a channel is where there is no walk."""
    return NOTHING if channel.kind == LEAST else 0


def kind_of(channel: Channel, found: Material | None, whole: Any) -> Any:
    """The type of a channel's numbers, if whole numbers have the type `whole`."""
    if channel.kind == LEAST:
        return np.int64
    return np.float64 if channel.kind == WEIGHTS and found is not None and not found.is_whole else whole


def together(channel: Channel, one: Array, other: Array) -> Array:
    """The walks of both."""
    return np.minimum(one, other) if channel.kind == LEAST else one + other


def accumulated(channel: Channel, rows: Array) -> Array:
    """For each row, the walks of all rows before it; one row more than there are."""
    begin = np.full((1, rows.shape[1]), nothing(channel), rows.dtype)
    whole = np.concatenate((begin, rows))
    add: np.ufunc = np.minimum if channel.kind == LEAST else np.add
    return add.accumulate(whole, axis=0, out=whole) if rows.dtype != object else add.accumulate(whole, axis=0)


def total(channel: Channel, rows: Array) -> Array:
    """The walks of all rows together."""
    add: np.ufunc = np.minimum if channel.kind == LEAST else np.add
    result: Array = add.reduce(rows, axis=0, initial=nothing(channel))
    return result


def unmet(channel: Channel, walks: Array, kind: np.dtype[Any]) -> Array:
    """What the channel has for walks that have met none of its events; its numbers are of a `kind`."""
    return walks if channel.kind == BLANKS else np.full(walks.shape, nothing(channel), kind)


def arrived(
    channel: Channel, found: Material | None, numbers: Numbers, before: Array, walks: Array, fits: Array
) -> Array:
    """The walks that go on to the events `numbers`, of the channel's own stage, where the event `fits`.

    `before` is what the channel has for them before the event, `walks` how many there are."""
    if found is None or channel.kind == WALKS:
        return np.where(fits, before, nothing(channel))
    if channel.kind == BLANKS:
        return np.where(fits & found.blank[numbers], before, 0)
    if channel.kind == LEAST:
        reached = fits & (walks > 0).astype(bool)
        if channel.counts:
            one = -found.weight[numbers] if channel.backwards else found.weight[numbers]
            return np.where(reached, np.where(reached, before, 0) + one, NOTHING)
        return np.where(reached, np.minimum(before, found.rank[numbers]), NOTHING)
    weight = found.weight[numbers]
    if found.is_whole:
        return np.where(fits, before + weight.astype(walks.dtype, copy=False) * walks, 0)
    # Infinity times no walk is nothing, not NaN.
    reached = fits & (walks > 0).astype(bool)
    with np.errstate(all="ignore"):
        return np.where(reached, before + np.where(reached, weight, 0.0) * walks.astype(np.float64), 0.0)


# Lanes: the events that a match may have, once it is fixed what is pinned. No two lanes share a match.


@dataclass(frozen=True, eq=False)
class ChainEvents:
    """The events that can be in a match of a chain, in their order: a *place* is a number in this order.
    `ties` has for each place the first one of the same time, `fits` for each state whether the event can be
    there at all."""

    search: KernelSearch
    numbers: Numbers
    ties: Numbers
    fits: tuple[Truths, ...]

    @cached_property
    def has_ties(self) -> bool:
        return bool((self.ties != np.arange(len(self.ties))).any())


def ground(chain: Chain, search: KernelSearch) -> ChainEvents:
    events = search.events
    playing = np.zeros(len(events.start), bool)
    for state in chain.states:
        playing[events.roles[state.role]] = True
    numbers = np.flatnonzero(playing)
    fits = []
    for state in chain.states:
        plays = np.zeros(len(events.start), bool)
        plays[events.roles[state.role]] = True
        fits.append(plays[numbers])
    time = search.timeline.time.start[numbers]
    return ChainEvents(search, numbers, first_of_each_time(time), tuple(fits))


def first_of_each_time(time: Numbers) -> Numbers:
    """
    >>> first_of_each_time(np.array([2, 5, 5, 7])).tolist()
    [0, 1, 1, 3]
    """
    return np.searchsorted(time, time, "left")


@dataclass(frozen=True, eq=False)
class Lanes:
    """For each lane the places from `base` to before `stop`, and the events that are pinned."""

    base: Numbers
    stop: Numbers
    pins: Mapping[EventName, Numbers]

    def __len__(self) -> int:
        return len(self.base)

    def take(self, lanes: Numbers | slice) -> Lanes:
        pins = {name: numbers[lanes] for name, numbers in self.pins.items()}
        return Lanes(self.base[lanes], self.stop[lanes], pins)


def lanes(program: CountingProgram, chain: Chain, on: ChainEvents) -> Iterator[Lanes]:
    """All lanes that are not empty, in the order of their base."""
    for found in _lanes(program, chain, on):
        kept = found.take(np.flatnonzero(found.base < found.stop))
        if len(kept):
            yield kept.take(np.argsort(kept.base, kind="stable"))


def _lanes(program: CountingProgram, chain: Chain, on: ChainEvents) -> Iterator[Lanes]:
    events, line = on.search.events, on.search.timeline
    if not chain.pins:
        segment = events.segment[line.first]
        base = np.searchsorted(on.numbers, line.first)
        yield Lanes(base, _stops(chain, on, line.first, segment), {})
        return
    for piece in matches(_pinning(program, chain), events):
        pins = {
            name: numbers.astype(np.int64)
            for name, numbers in piece.items()
            if not isinstance(numbers, EventLists)
        }
        first = pins[chain.pins[0].variable]
        segment = events.segment[first]
        begin = first if chain.leads else line.first[np.searchsorted(events.segment[line.first], segment)]
        stop = _stops(chain, on, first, segment)
        for name in {chain.states[ending.state].pinned for ending in chain.endings}:
            # Nothing comes after an event with which all matches end.
            if len(chain.endings) == 1 and name is not None:
                stop = np.minimum(stop, np.searchsorted(on.numbers, pins[name], "right"))
        yield Lanes(np.searchsorted(on.numbers, begin), stop, pins)


def _stops(chain: Chain, on: ChainEvents, first: Numbers, segment: Numbers) -> Numbers:
    """The places at which the window of matches, or else their key, ends."""
    line = on.search.timeline
    axis = line.place if chain.counted else line.time
    assert axis is not None, "a window counts, but the events are not counted"
    last = axis.high[segment]
    if chain.width is not None and chain.leads:
        last = np.minimum(last, axis.later(axis.start[first], chain.width))
    return np.searchsorted(axis.end[on.numbers], last, "right")


def _pinning(program: CountingProgram, chain: Chain) -> PatternProgram:
    """The program that finds what is pinned."""
    variables = [take.variable for take in chain.pins]
    return PatternProgram(
        chain.pins,
        tuple(VariableOutput(variable, "") for variable in variables),
        program.roles,
        program.keys,
        counted=program.counted,
        reach=program.reach,
        looks_back=False,
        leader=variables[0] if chain.leads else None,
    )


# Which event may follow which, where more is required than that it comes later.

PAIRS_AT_ONCE = 1_000_000


def is_static(condition: Value) -> bool:
    """Whether a condition concerns two events of a walk and none that is pinned."""
    return set(names_of_value(condition)) <= {SOURCE, TARGET}


@dataclass(frozen=True, eq=False)
class MoveIndex:
    """The places that can be the source of a move, in an order in which those that one target can follow are
    next to each other: those of the same value, if a condition requires that, in the order of time.

    `values` has for each place the number of the value it requires as a target, -1 for none."""

    move: ChainMove
    on: ChainEvents
    sources: Numbers
    keys: Numbers
    values: Numbers | None

    def ranges(self, targets: Numbers, earliest: Numbers) -> tuple[Numbers, Numbers]:
        """For each target the first of its sources, none before the place `earliest`, and how many."""
        low, high = earliest, self.on.ties[targets]
        if self.values is not None:
            offset = self.values[targets] * (len(self.on.numbers) + 1)
            low, high = low + offset, np.where(offset < 0, low, high) + offset
        left = np.searchsorted(self.keys, low, "left")
        return left, np.maximum(np.searchsorted(self.keys, high, "left") - left, 0)

    def pairs(self, targets: Numbers, left: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
        """Which of the targets may follow which place, as far as no lane matters."""
        which = np.repeat(np.arange(len(targets)), counts)
        places = np.arange(len(which)) + np.repeat(left - np.cumsum(counts) + counts, counts)
        source = self.sources[places]
        allowed = _allowed(self.move, self.on, source, targets[which])
        return which[allowed], source[allowed]


def index(move: ChainMove, on: ChainEvents) -> MoveIndex:
    sources = np.flatnonzero(on.fits[move.source])
    for condition in move.where:
        values = _values(condition, on)
        if values is not None:
            target, source = values
            sources = sources[source[sources] >= 0]
            keys = source[sources] * (len(on.numbers) + 1) + sources
            order = np.argsort(keys)
            return MoveIndex(move, on, sources[order], keys[order], target)
    return MoveIndex(move, on, sources, sources, None)


def _values(condition: Value, on: ChainEvents) -> tuple[Numbers, Numbers] | None:
    """For an equality between the two events: the number of the value that each place has as a target, and
    as a source; -1 for NULL."""
    match condition:
        case Apply("=", (ColumnValue(one, first), ColumnValue(other, second))) if {one, other} == {
            SOURCE,
            TARGET,
        }:
            target, source = (first, second) if one == TARGET else (second, first)
            return _numbered(on.search.events, on.numbers, target, source)
    return None


def _numbered(events: KernelEvents, numbers: Numbers, target: str, source: str) -> tuple[Numbers, Numbers]:
    columns = [events.columns[target], events.columns[source]]
    _, codes = np.unique(np.concatenate([column.values[numbers] for column in columns]), return_inverse=True)
    found = []
    for column, code in zip(columns, np.split(codes, 2), strict=True):
        found.append(code if column.valid is None else np.where(column.valid[numbers], code, -1))
    return found[0], found[1]


@dataclass(frozen=True, eq=False)
class Predecessors:
    """For each place from `low` on, the places that it may follow: those of `sources` from its entry of
    `begin` to before the next one."""

    low: int
    begin: Numbers
    sources: Numbers

    def of(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """For each pair: which of `places` it is for, and the place before.

        >>> before = Predecessors(4, np.array([0, 0, 2, 3]), np.array([4, 5, 5]))
        >>> [found.tolist() for found in before.of(np.array([6, 4, 5]))]
        [[0, 2, 2], [5, 4, 5]]
        """
        begin = self.begin[places - self.low]
        counts = self.begin[places - self.low + 1] - begin
        which = np.repeat(np.arange(len(places)), counts)
        ends = np.cumsum(counts)
        return which, self.sources[np.arange(len(which)) + np.repeat(begin - ends + counts, counts)]


def before(of: MoveIndex, earliest: Numbers, low: int) -> Predecessors:
    """For each place from `low` on what it may follow; `earliest` has the first place that any lane with this
    place has."""
    fits = of.on.fits[of.move.target][low : low + len(earliest)]
    targets = np.flatnonzero(fits) + low
    left, counts = of.ranges(targets, earliest[targets - low])
    kept = np.zeros(len(earliest), np.int64)
    found = [np.zeros(0, np.int64)]
    for some in in_parts(counts):
        which, source = of.pairs(targets[some], left[some], counts[some])
        found.append(source)
        kept += np.bincount(targets[some][which] - low, minlength=len(kept))
    return Predecessors(low, np.concatenate(([0], np.cumsum(kept))), np.concatenate(found))


def in_parts(counts: Numbers, most: int = PAIRS_AT_ONCE) -> list[slice]:
    """Slices whose counts add up to at most `most`, or that have one count which is more.

    >>> in_parts(np.array([2, 2, 9, 1, 1]), 4)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    beyond = np.cumsum(counts)
    found, begin = list[slice](), 0
    while begin < len(counts):
        done = int(beyond[begin] - counts[begin])
        end = max(begin + 1, int(np.searchsorted(beyond, done + most, "right")))
        found.append(slice(begin, end))
        begin = end
    return found


def _allowed(move: ChainMove, on: ChainEvents, source: Numbers, target: Numbers) -> Truths:
    """The pairs of places for which all conditions without a pinned event hold."""
    events: dict[EventName, Numbers] = {SOURCE: on.numbers[source], TARGET: on.numbers[target]}
    allowed = np.ones(len(source), bool)
    for condition in move.where:
        if is_static(condition):
            allowed &= holds(condition, events.get, on.search.events, len(source))
    for check in move.absent:
        rows = np.flatnonzero(allowed)
        named: dict[EventName, Numbers] = {name: events[end][rows] for name, end in move.names}
        table = Frontier(named, {}, on.search.events.segment[events[TARGET][rows]])
        allowed[rows[extended(on.search.unowned(), check.steps, table, run)]] = False
    return allowed


# Some lanes of a chain, side by side: a row for each place of a lane, counted from its base.


@dataclass(frozen=True, eq=False)
class LaneBlock:
    """Some lanes of a chain."""

    chain: Chain
    on: ChainEvents
    lanes: Lanes

    @cached_property
    def height(self) -> int:
        return int((self.lanes.stop - self.lanes.base).max())

    @cached_property
    def places(self) -> Numbers:
        """Row and lane -> place; the last one of all for rows behind the end of a lane."""
        places: Numbers = self.lanes.base[None, :] + np.arange(self.height)[:, None]
        np.minimum(places, len(self.on.numbers) - 1, out=places)
        return places

    @cached_property
    def inside(self) -> Truths:
        length = self.lanes.stop - self.lanes.base
        return np.arange(self.height)[:, None] < length[None, :]

    @cached_property
    def earlier(self) -> Numbers | None:
        """For each cell the row of the first event of the same time; None: all times differ."""
        if not self.on.has_ties:
            return None
        rows: Numbers = self.on.ties[self.places] - self.lanes.base[None, :]
        np.maximum(rows, 0, out=rows)
        return rows

    def fits(self, state: int) -> Truths:
        """The cells whose event can be in the state."""
        required = self.chain.states[state]
        cells = self.inside & self.on.fits[state][self.places]
        if required.pinned is not None:
            cells &= self.on.numbers[self.places] == self.lanes.pins[required.pinned][None, :]
        return self.holding(required.where, TARGET, cells)

    def holding(self, conditions: tuple[Value, ...], name: EventName, cells: Truths) -> Truths:
        """Those of the cells for whose event, under this name, the conditions hold."""
        for condition in conditions:
            row, lane = np.nonzero(cells)
            known: dict[EventName, Numbers] = {
                name: self.on.numbers[self.places[row, lane]],
                **self.pinned(lane),
            }
            cells = cells.copy()
            cells[row, lane] = holds(condition, known.get, self.on.search.events, len(row))
        return cells

    def pinned(self, lane: Numbers) -> dict[EventName, Numbers]:
        return {pin: numbers[lane] for pin, numbers in self.lanes.pins.items()}

    @cached_property
    def _known(self) -> dict[ChainMove, tuple[MoveIndex, Predecessors | None]]:
        return {}

    def _before(self, move: ChainMove) -> tuple[MoveIndex, Predecessors | None]:
        """What each event may follow: found once, where lanes share events."""
        if move not in self._known:
            found = index(move, self.on)
            self._known[move] = (found, None if len(self.lanes) == 1 else self._shared(found))
        return self._known[move]

    def _shared(self, found: MoveIndex) -> Predecessors:
        low, high = int(self.lanes.base.min()), int(self.lanes.stop.max())
        earliest = np.full(high - low, len(self.on.numbers))
        # Lanes are in the order of their base: the earliest is written last.
        backwards = self.inside[:, ::-1].T
        places = self.places[:, ::-1].T[backwards]
        bases = np.broadcast_to(self.lanes.base[::-1, None], backwards.shape)[backwards]
        earliest[places - low] = bases
        return before(found, earliest, low)

    def pairs(self, move: ChainMove, places: Numbers, lanes: Numbers) -> tuple[Numbers, Numbers]:
        """Which of some places may follow which earlier one of its lane, if nothing is pinned."""
        found, shared = self._before(move)
        base = self.lanes.base[lanes]
        if shared is None:
            return found.pairs(places, *found.ranges(places, base))
        which, earlier = shared.of(places)
        inside = earlier >= base[which]
        return which[inside], earlier[inside]

    def in_parts(self, move: ChainMove, places: Numbers, lanes: Numbers) -> list[slice]:
        """Slices of some places that do not have too many pairs."""
        found, _ = self._before(move)
        return in_parts(found.ranges(places, self.lanes.base[lanes])[1])


# What comes to events by a move: from all events before them, or from those that they may follow.

Tables = dict[Channel, Array]


@lru_cache(maxsize=1024)
def depends_on_both(move: ChainMove) -> bool:
    """Whether the move depends on both of its events at once, not on each of them alone."""
    if move.absent or (move.where and move.source == move.target):
        return True
    return any({SOURCE, TARGET} <= set(names_of_value(condition)) for condition in move.where)


def sums_of(tables: Tables) -> Tables:
    return {channel: accumulated(channel, rows) for channel, rows in tables.items()}


def kept(tables: Tables, cells: Truths) -> Tables:
    return {channel: np.where(cells, rows, nothing(channel)) for channel, rows in tables.items()}


def plain(block: LaneBlock, move: ChainMove, states: list[Tables], sums: dict[int, Tables]) -> Tables:
    """What comes to all cells by a move whose conditions are each about one of its events."""
    leaving = tuple(one for one in move.where if SOURCE in names_of_value(one))
    entering = tuple(one for one in move.where if one not in leaving)
    from_all = sums[move.source]
    if leaving:
        from_all = sums_of(kept(states[move.source], block.holding(leaving, SOURCE, block.inside)))
    result = {channel: _up_to(table, block.earlier) for channel, table in from_all.items()}
    if not entering:
        return result
    cells = block.inside & block.on.fits[move.target][block.places]
    return kept(result, block.holding(entering, TARGET, cells))


def _up_to(sums: Array, earlier: Numbers | None) -> Array:
    """For each cell the sum over all cells of its lane that are earlier."""
    return sums[:-1] if earlier is None else np.take_along_axis(sums, earlier, 0)


def arriving(block: LaneBlock, move: ChainMove, source: Tables, rows: Numbers, lanes: Numbers) -> Tables:
    """What comes to some cells by a move that depends on both of its events."""
    places, base = block.places[rows, lanes], block.lanes.base
    which, earlier = block.pairs(move, places, lanes)
    for condition in move.where:
        if not is_static(condition):
            events: dict[EventName, Numbers] = {
                SOURCE: block.on.numbers[earlier],
                TARGET: block.on.numbers[places[which]],
            }
            lookup: dict[EventName, Numbers] = {**events, **block.pinned(lanes[which])}
            fine = holds(condition, lookup.get, block.on.search.events, len(which))
            which, earlier = which[fine], earlier[fine]
    lane = lanes[which]
    row = earlier - base[lane]
    begins = np.flatnonzero(np.diff(which, prepend=-1))
    result: Tables = {}
    for channel, table in source.items():
        result[channel] = np.full(len(rows), nothing(channel), table.dtype)
        if len(begins):
            add: np.ufunc = np.minimum if channel.kind == LEAST else np.add
            result[channel][which[begins]] = add.reduceat(table[row, lane], begins)
    return result


def arriving_everywhere(block: LaneBlock, move: ChainMove, source: Tables, fits: Truths) -> Tables:
    """The same for all cells that fit."""
    result = {channel: np.full_like(table, nothing(channel)) for channel, table in source.items()}
    rows, lanes = np.nonzero(fits)
    for some in block.in_parts(move, block.places[rows, lanes], lanes):
        for channel, values in arriving(block, move, source, rows[some], lanes[some]).items():
            result[channel][rows[some], lanes[some]] = values
    return result


WALK = Channel(WALKS)

Materials = Mapping[Channel, Material | None]


@dataclass(frozen=True, eq=False)
class Walks:
    """What the channels have for matches: for each lane, or for each of `rows` and `lanes` where these say
    which event is the last one. `most` is the greatest number of walks that any state has in one lane."""

    ended: Mapping[Channel, Array]
    lanes: Numbers
    rows: Numbers | None
    most: float


def walks(block: LaneBlock, materials: Materials, whole: Any) -> Walks:
    """All channels, with whole numbers of the type `whole`."""
    chain, states, most = block.chain, list[Tables](), 0.0
    sums: dict[int, Tables] = {}
    for state in range(len(chain.states)):
        tables = _filled(block, state, materials, whole, states, sums)
        states.append(tables)
        if whole is np.float64:
            most = max(most, float(total(WALK, tables[WALK]).max(initial=0)))
        if any(move.source == state != move.target and not depends_on_both(move) for move in chain.moves):
            sums[state] = sums_of(tables)
    ended: Tables = {}
    for ending in chain.endings:
        last = states[ending.state]
        if ending.where:
            last = kept(last, block.holding(ending.where, SOURCE, block.inside))
        for channel, rows in last.items():
            ended[channel] = together(channel, ended[channel], rows) if channel in ended else rows
    if chain.ends is not None:
        row, lane = np.nonzero(ended[WALK] > 0)
        return Walks({channel: table[row, lane] for channel, table in ended.items()}, lane, row, most)
    lanes = np.arange(len(block.lanes))
    return Walks({channel: total(channel, table) for channel, table in ended.items()}, lanes, None, most)


def _filled(
    block: LaneBlock,
    state: int,
    materials: Materials,
    whole: Any,
    states: list[Tables],
    sums: dict[int, Tables],
) -> Tables:
    """The tables of one state; those of the states before it are there."""
    chain = block.chain
    stage, numbers, fits = chain.states[state].stage, block.on.numbers[block.places], block.fits(state)
    own = {c: m if c.stage == stage else None for c, m in materials.items()}
    into = _begun(block, state, materials, whole)
    again: ChainMove | None = None
    # From other stages first: those walks meet the first event of their list here.
    moves = [move for move in chain.moves if move.target == state]
    for is_inner in (False, True):
        for move in (one for one in moves if (chain.states[one.source].stage == stage) is is_inner):
            if move.source == state:
                again = move
                continue
            if depends_on_both(move):
                more = arriving_everywhere(block, move, states[move.source], fits)
            else:
                more = plain(block, move, states, sums)
            into = {channel: together(channel, table, more[channel]) for channel, table in into.items()}
        if not is_inner:
            firsts = {c: m for c, m in own.items() if m is not None and c.picks == FIRST}
            into |= _arrived(firsts, numbers, into, fits)
            own |= dict.fromkeys(firsts)
    if again is None:
        return _arrived(own, numbers, into, fits)
    return _row_by_row(block, own, numbers, into, fits, again)


def _begun(block: LaneBlock, state: int, materials: Materials, whole: Any) -> Tables:
    """The walks that begin at each cell, before its event is looked at."""
    shape = (block.height, len(block.lanes))
    tables = {c: np.full(shape, nothing(c), kind_of(c, m, whole)) for c, m in materials.items()}
    if state > 0:
        return tables
    for channel, table in tables.items():
        counts_least = channel.kind == LEAST and channel.counts
        if channel.kind in (WALKS, BLANKS) or counts_least:
            met = 0 if counts_least else 1
            if block.chain.leads:
                table[0] = met
            else:
                cells = block.inside & block.on.fits[0][block.places]
                table[block.holding(block.chain.begins, TARGET, cells)] = met
    return tables


def _arrived(own: Materials, numbers: Numbers, into: Mapping[Channel, Array], fits: Truths) -> Tables:
    count = np.where(fits, into[WALK], 0)
    arrivals: Tables = {}
    for channel, found in own.items():
        if channel == WALK:
            arrivals[channel] = count
            continue
        before = into[channel]
        if channel.picks == LAST and found is not None:  # what was met before does not count
            before = unmet(channel, count, before.dtype)
        arrivals[channel] = arrived(channel, found, numbers, before, count, fits)
    return arrivals


def _row_by_row(
    block: LaneBlock, own: Materials, numbers: Numbers, into: Tables, fits: Truths, again: ChainMove
) -> Tables:
    """A state that leads to itself: the events of a row may follow those of all rows before it."""
    here = {channel: np.full_like(table, nothing(channel)) for channel, table in into.items()}
    sums = {c: np.full((len(t) + 1, t.shape[1]), nothing(c), t.dtype) for c, t in into.items()}
    lanes = np.arange(len(block.lanes))
    used: Truths = np.any(fits, axis=1)
    checks_pairs = depends_on_both(again)
    for row in range(block.height):
        if used[row]:
            before = {channel: table[row] for channel, table in into.items()}
            if checks_pairs:
                some = lanes[fits[row]]
                for channel, values in arriving(block, again, here, np.full(len(some), row), some).items():
                    before[channel] = before[channel].copy()
                    before[channel][some] = together(channel, before[channel][some], values)
            else:
                earlier = row if block.earlier is None else block.earlier[row]
                for channel, table in sums.items():
                    before[channel] = together(channel, before[channel], table[earlier, lanes])
            for channel, values in _arrived(own, numbers[row], before, fits[row]).items():
                here[channel][row] = values
        if not checks_pairs:
            for channel, table in sums.items():
                table[row + 1] = together(channel, table[row], here[channel][row])
    return here
