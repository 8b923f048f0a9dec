"""The matches of a program among events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from itertools import chain

import numpy as np

from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.failures import KernelError
from neelc.runtime.kernels.events import KernelEvents, Numbers, Truths
from neelc.runtime.kernels.frontier import EventLists, Frontier, any_bound, distinct, joined, none, root
from neelc.runtime.kernels.keeping import (
    MomentLine,
    MomentPlaces,
    StartMoments,
    ends_after_earlier,
    following,
    later,
)
from neelc.runtime.kernels.measuring import StepMeasures
from neelc.runtime.kernels.running import run
from neelc.runtime.kernels.taking import KernelSearch, groups
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    ElementName,
    EventName,
    FurthestMatch,
    MatchSelection,
    PatternProgram,
    SkipTarget,
    VariableOutput,
    base_of,
)
from neelc.runtime.values.operations import check
from neelc.runtime.values.order import Place, place_of

# Matches with the same single events as one, with the events of all their lists, SASE++'s format.

Piece = Mapping[EventName, Numbers | EventLists]

# Each time MANY rows have come they are merged.


def collapsed(pieces: Iterable[Piece], events: KernelEvents) -> Piece:
    """All matches, in one piece."""
    kept: list[Piece] = []
    rows, done = 0, 0
    for piece in pieces:
        kept.append(piece)
        rows += length(piece)
        if rows > max(MANY, 2 * done):
            kept = [_united_lists(kept, events)]
            rows = done = length(kept[0])
    return _united_lists(kept, events) if kept else {}


def length(piece: Piece) -> int:
    return min(map(len, piece.values()), default=0)


def united_columns(columns: Sequence[Numbers | EventLists]) -> Numbers | EventLists:
    """Columns of the same kind, one after the other."""
    lists = [column for column in columns if isinstance(column, EventLists)]
    if lists:
        return reduce(lambda one, other: joined(one, len(one), other, len(other)), lists)
    return np.concatenate([column for column in columns if not isinstance(column, EventLists)])


def _united_lists(pieces: list[Piece], events: KernelEvents) -> Piece:
    whole = {name: united_columns([piece[name] for piece in pieces]) for name in pieces[0]}
    # Of a list only whether there is one is part of a choice.
    keys = [column.length < 0 if isinstance(column, EventLists) else column for column in whole.values()]
    rows, like = distinct([key.astype(np.int64) for key in keys])
    return {
        name: union(column, like, len(rows), events) if isinstance(column, EventLists) else column[rows]
        for name, column in whole.items()
    }


def union(lists: EventLists, like: Numbers, groups: int, events: KernelEvents) -> EventLists:
    """For each group of rows the events of all its lists, in the order of time."""
    row, place = lists.row_and_place()
    group, event = like[row], lists.pool[place]
    first, _ = distinct([group, event])
    group, event = group[first], event[first]
    order = np.lexsort((event, events.last_moment[event], events.first_moment[event], group))
    counts = np.bincount(group, minlength=groups).astype(np.int64)
    absent = np.zeros(groups, bool)
    absent[like[lists.length < 0]] = True
    return EventLists(event[order], np.cumsum(counts) - counts, np.where(absent, -1, counts))


# Which of several matches is preferred: the one that ends first, then by the times of its events, variable
# by variable, then by values. It is the order of `runtime/reference/partial.py`, a column at a time.

# No time is as early as that of an event that is not there, and of one behind the end of a list.
ABSENT, BEYOND = np.iinfo(np.int64).min + 1, np.iinfo(np.int64).min


@dataclass(frozen=True)
class Leaf:
    """A column of matches, and the columns of its events whose values are compared."""

    variable: EventName
    compared: tuple[str, ...] = ()


def leaves_of(outputs: Sequence[VariableOutput], spec: FurthestMatch | MatchSelection) -> tuple[Leaf, ...]:
    """All columns of matches; those of a closure of a composite by the names of its variables."""
    compared = dict(spec.compared)
    names = (name for output in outputs for name in sorted((name for name, _ in output.bound), key=str))
    return tuple(Leaf(name, compared.get(name, ())) for name in names)


def preferred(
    group: Numbers,
    piece: Piece,
    leaves: Sequence[Leaf],
    events: KernelEvents,
    before: Numbers | None = None,
) -> Numbers:
    """A row of each group: the one that is preferred, by what is least in `before`, if that is given, and
    then by its times and values."""
    if int(group.max(initial=0)) > 4 * len(group):
        _, group = np.unique(group, return_inverse=True)
    alone, rows = _split(group, np.arange(len(group)))
    done = [alone]
    first: list[Key] = [] if before is None else [partial(_take, before)]
    for key in chain(first, _keys(piece, leaves, events)):
        if not len(rows):
            break
        values = key(rows)
        least = np.full(int(group.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(least, group[rows], values)
        alone, rows = _split(group, rows[values == least[group[rows]]])
        done.append(alone)
    done.append(_by_values(group, rows, piece, leaves, events))
    return np.sort(np.concatenate(done))


def _split(group: Numbers, rows: Numbers) -> tuple[Numbers, Numbers]:
    """The rows that are the only one of their group, and the others."""
    alone = np.bincount(group[rows])[group[rows]] == 1 if len(rows) else np.zeros(0, bool)
    return rows[alone], rows[~alone]


Key = Callable[[Numbers], Numbers]
"""A number for each of some rows: the least is preferred."""


def _keys(piece: Piece, leaves: Sequence[Leaf], events: KernelEvents) -> Iterator[Key]:
    yield lambda rows: _end(rows, piece, events)
    for leaf in leaves:
        column = piece[leaf.variable]
        if not isinstance(column, EventLists):
            yield from _times(column, events)
            continue
        yield partial(_take, (column.length >= 0).astype(np.int64))
        for place in range(int(column.length.max(initial=0))):
            beyond = column.length <= place
            for key in _times(column.at(place), events):
                yield partial(_take_unless, beyond, key)


def _take(values: Numbers, rows: Numbers) -> Numbers:
    return values[rows]


def _take_unless(beyond: Truths, key: Key, rows: Numbers) -> Numbers:
    return np.where(beyond[rows], BEYOND, key(rows))


def _times(numbers: Numbers, events: KernelEvents) -> Iterator[Key]:
    for times in (events.first_moment, events.last_moment) if events.lasting else (events.first_moment,):
        yield partial(_time, numbers, times)


def _time(numbers: Numbers, times: Numbers, rows: Numbers) -> Numbers:
    return np.where(numbers[rows] < 0, ABSENT, times[numbers[rows]])


def _end(rows: Numbers, piece: Piece, events: KernelEvents) -> Numbers:
    """When the last event of each row ends."""
    return _latest(rows, piece, events.last_moment)


def _latest(rows: Numbers, piece: Piece, times: Numbers) -> Numbers:
    """The latest time of the events of each row."""
    end = np.full(len(rows), ABSENT)
    for column in piece.values():
        if isinstance(column, EventLists):
            lists = column.take(rows)
            row, place = lists.row_and_place()
            numbers = lists.pool[place]
            np.maximum.at(end, row[numbers >= 0], times[numbers[numbers >= 0]])
        else:
            end = np.maximum(end, _time(column, times, rows))
    return end


def _by_values(
    group: Numbers, rows: Numbers, piece: Piece, leaves: Sequence[Leaf], events: KernelEvents
) -> Numbers:
    """One of the rows of each group, which differ in values only. These are rare: ties of all times."""
    columns = [_values(piece[leaf.variable], rows, leaf, events) for leaf in leaves if leaf.compared]
    best: dict[int, tuple[Place, int]] = {}
    for place, row in enumerate(rows.tolist()):
        found = (place_of([column[place] for column in columns]), row)
        number = int(group[row])
        best[number] = min(found, best.get(number, found), key=lambda one: one[0])
    return np.array([row for _, row in best.values()], np.int64)


def _values(
    column: Numbers | EventLists, rows: Numbers, leaf: Leaf, events: KernelEvents
) -> list[list[object]]:
    """Of each row, the values of each of its events."""
    if isinstance(column, EventLists):
        row, place = column.take(rows).row_and_place()
        numbers = column.pool[place]
    else:
        row, numbers = np.arange(len(rows)), column[rows]
    known, like = np.unique(numbers, return_inverse=True)
    assert events.values is not None, "values are compared"
    present = known[known >= 0]
    values = list(zip(*(events.values(name, present) for name in leaf.compared), strict=True))
    missing = len(known) - len(present)
    found: list[list[object]] = [[] for _ in rows]
    for at, one in zip(row.tolist(), like.tolist(), strict=True):
        found[at].append([None] * len(leaf.compared) if one < missing else values[one - missing])
    return found


# For each start, the match that gets furthest: WITH PARTIAL MATCHES.

# Each time this many rows have come they are reduced to those that are kept.
MANY = 200_000


def furthest(
    pieces: Iterable[Piece], program: PatternProgram, spec: FurthestMatch, events: KernelEvents
) -> Iterator[Piece]:
    """All matches that are kept, in one piece."""
    leaves = leaves_of(program.outputs, spec)
    kept: list[Piece] = []
    rows, done = 0, 0
    for piece in pieces:
        kept.append(piece)
        rows += length(piece)
        if rows > max(MANY, 2 * done):
            kept = [_best(_united_columns(kept), spec, leaves, events)]
            rows = done = length(kept[0])
    if kept:
        best = _best(_united_columns(kept), spec, leaves, events)
        yield _of_each_start(best, spec)


def _united_columns(pieces: Sequence[Piece]) -> Piece:
    return {name: united_columns([piece[name] for piece in pieces]) for name in pieces[0]}


def taken_matches(piece: Piece, rows: Numbers) -> dict[EventName, Numbers | EventLists]:
    """Some of the matches of a piece."""
    return {
        name: column.take(rows) if isinstance(column, EventLists) else column[rows]
        for name, column in piece.items()
    }


def _branch_and_start(piece: Piece, spec: FurthestMatch) -> tuple[Numbers, Numbers]:
    """Of each match the branch that it is of, and its first event: no other branch has one."""
    branch = np.full(length(piece), -1)
    start = np.full(length(piece), -1)
    for number, name in enumerate(spec.starts):
        column = piece.get(name)  # rewriting drops branches that have no match
        if column is not None and not isinstance(column, EventLists):
            branch[column >= 0] = number
            start = np.maximum(start, column)
    return branch, start


def _best(piece: Piece, spec: FurthestMatch, leaves: Sequence[Leaf], events: KernelEvents) -> Piece:
    """Of each start, one match of each branch."""
    branch, start = _branch_and_start(piece, spec)
    group = start * len(spec.starts) + branch
    return taken_matches(piece, preferred(group, piece, leaves, events))


def _of_each_start(piece: Piece, spec: FurthestMatch) -> Piece:
    """For each start the match of its last level, with the hints why it is the last."""
    branch, start = _branch_and_start(piece, spec)
    starts, like = np.unique(start, return_inverse=True)
    rows = np.full((len(starts), len(spec.starts)), -1)
    rows[like, branch] = np.arange(len(branch))
    place = {name: number for number, name in enumerate(spec.starts)}
    chosen = np.full(len(starts), -1)
    hints = {name: np.zeros(len(starts), bool) for name in spec.starts}
    for level in reversed(spec.levels):
        of_level = rows[:, place[level.start]]
        new = (chosen < 0) & (of_level >= 0)
        chosen[new] = of_level[new]
        for hint in level.hints:
            hints[hint] = new & (rows[:, place[hint]] >= 0)
            new = new & ~hints[hint]
    started = chosen >= 0
    best = taken_matches(piece, chosen[started])
    for name, has_hint in hints.items():
        column = best.get(name)
        if column is not None and not isinstance(column, EventLists):
            best[name] = np.where(has_hint[started], starts[started], column)
    return best


# Which matches of a key are kept: ONE MATCH PER, AFTER MATCH SKIP, SUPPRESS.
#
# What a clause decides depends on the times of matches, and where these are equal, on the first of them. So
# the first of each group of equals is found, piece by piece, and only these are put in order.


@dataclass(eq=False)
class KeepingState:
    """For each key, from which start on, and from which end on, the next match may be kept: what is known of
    those that were kept before. With `since`, matches that start before it only count for ONE MATCH PER.

    Where columns order events of the same time, so many moments at which events start at the time in `starts`
    come too early, as `ranks` say. Numbers of moments would not do: they are those of one search."""

    starts: Numbers
    ends: Numbers
    ranks: Numbers
    since: int = FIRST_TIME


def no_matches_kept(key: Numbers) -> KeepingState:
    """Before the first match, if events are of these keys."""
    keys = int(key.max(initial=-1)) + 1
    return KeepingState(np.full(keys, FIRST_TIME), np.full(keys, FIRST_TIME), np.zeros(keys, np.int64))


def kept(
    pieces: Iterable[Piece],
    program: PatternProgram,
    spec: MatchSelection,
    events: KernelEvents,
    state: KeepingState | None = None,
) -> Iterator[Piece]:
    """All matches that are kept, in one piece. A `state` is changed to what is known after them."""
    places = {name: place for place, name in enumerate(spec.order)}
    outputs = sorted(program.outputs, key=lambda one: places.get(str(one.variable), len(places)))
    key = keys_of_matches(spec, events)
    keeper = MatchKeeper(spec, events, leaves_of(outputs, spec), state or no_matches_kept(key), key)
    first, *others = keeper.clauses
    left: list[Piece] = []
    rows, done = 0, 0
    for piece in pieces:
        left.append(piece)
        rows += length(piece)
        if rows > max(MANY, 2 * done):
            left = [first.reduced(_united_columns(left))]
            rows = done = length(left[0])
    if left:
        piece = first.chosen(first.reduced(_united_columns(left)))
        for clause in others:
            piece = clause.chosen(clause.reduced(piece))
        yield piece


def keys_of_matches(spec: MatchSelection, events: KernelEvents) -> Numbers:
    """For each event, a number for the key of the matches that it is of."""
    columns = [events.segment]
    for column in (events.columns[name] for name in spec.by):
        code = np.unique(column.values, return_inverse=True)[1]
        columns.append(code if column.valid is None else np.where(column.valid, code, -1))
    if len(columns) == 1 or not len(events.segment):
        return events.segment
    return distinct(columns)[1]


@dataclass(frozen=True)
class KeepingClause:
    """A clause: `reduced` are the matches that are the first of their group, and `chosen` those of them that
    are kept, once all are known."""

    reduced: Callable[[Piece], Piece]
    chosen: Callable[[Piece], Piece] = lambda piece: piece


@dataclass(frozen=True, eq=False)
class MatchKeeper:
    """What is known of events, and of matches before, to choose among matches."""

    spec: MatchSelection
    events: KernelEvents
    leaves: tuple[Leaf, ...]
    state: KeepingState
    key: Numbers
    """For each event, the key of the matches that it is of."""

    @property
    def clauses(self) -> tuple[KeepingClause, ...]:
        """The clauses that there are, in the order in which they are applied."""
        spec = self.spec
        return (
            *([KeepingClause(self._one_of_each, self._new)] if spec.one_per else []),
            *([KeepingClause(self._first_of_starts, self._skipping)] if spec.skip is not None else []),
            *([KeepingClause(self._first_of_times, self._apart)] if spec.suppress is not None else []),
        )

    @cached_property
    def instant(self) -> Numbers:
        """A number for the key and the start of each event."""
        start = self.events.first_moment
        # Without more columns, events come by key, and of each key in the order of time.
        order = np.lexsort((start, self.key)) if self.spec.by else np.arange(len(start))
        changes = (np.diff(self.key[order]) != 0) | (np.diff(start[order]) != 0)
        found = np.zeros(len(start), np.int64)
        found[order[1:]] = np.cumsum(changes)
        return found

    @cached_property
    def moments(self) -> StartMoments | None:
        events = self.events
        return None if events.moments is None else StartMoments(events.moments, events.start, events.end)

    def _one_of_each(self, piece: Piece) -> Piece:
        first = _first_event(piece)
        names = [name for name in piece if str(base_of_output(name)) in self.spec.one_per]
        columns = [_codes_of(piece[name]) for name in names]
        _, group = distinct([self.key[first], *columns])
        return taken_matches(piece, self._preferred(group, piece, self.instant[first]))

    def _new(self, piece: Piece) -> Piece:
        new = self.events.start[_first_event(piece)] >= self.state.since
        return piece if new.all() else taken_matches(piece, np.flatnonzero(new))

    def _first_of_starts(self, piece: Piece) -> Piece:
        group = self.instant[_first_event(piece)]
        return taken_matches(piece, self._preferred(group, piece))

    def _first_of_times(self, piece: Piece) -> Piece:
        """Only a match that ends after all that start before it can be kept: most are none."""
        first, end = _first_event(piece), self._end(piece)
        instant = self.instant[first]
        new = np.flatnonzero(ends_after_earlier(self.key[first], instant, end))
        new = new[np.lexsort((end[new], instant[new]))]
        piece = taken_matches(piece, new)
        other = (np.diff(instant[new]) != 0) | (np.diff(end[new]) != 0)
        if other.all():
            return piece
        return taken_matches(piece, self._preferred(np.append(0, np.cumsum(other)), piece))

    def _preferred(self, group: Numbers, piece: Piece, before: Numbers | None = None) -> Numbers:
        return preferred(group, piece, self.leaves, self.events, before)

    def _end(self, piece: Piece) -> Numbers:
        """The last time of each match."""
        return _latest(np.arange(length(piece)), piece, self.events.end)

    def _skipping(self, piece: Piece) -> Piece:
        first = _first_event(piece)
        order = np.argsort(self.instant[first], kind="stable")
        piece, first = taken_matches(piece, order), first[order]
        key = self.key[first]
        if self.moments is not None:
            return taken_matches(piece, self._following_moments(self.moments, piece, first))
        start = self.events.start[first]
        free = later(self._end(piece), 0) if self.spec.skip == SkipTarget.END else later(start, 0)
        if self.spec.variable is not None:
            free = np.maximum(free, self._skipped_to(piece, self.events.start))
        return taken_matches(piece, following(key, start, free, self.state.starts))

    def _following_moments(self, moments: StartMoments, piece: Piece, first: Numbers) -> Numbers:
        """The same where columns order events of the same time: times and ranks as numbers in their order."""
        state, own = self.state, self.events.first_moment[first]
        value = moments.places(own, own - 1)
        if self.spec.skip == SkipTarget.END:
            end = _latest(np.arange(len(first)), piece, self.events.last_moment)
            free = moments.places(end, end)
        else:
            free = moments.places(own, own)
        if self.spec.variable is not None:
            to = self._skipped_to(piece, self.events.first_moment)
            to = np.where(to == ABSENT, own, to)
            free = free.greatest(moments.places(to, to - 1))
        line = MomentLine((value, free, MomentPlaces(state.starts, state.ranks)))
        least = line.numbers(MomentPlaces(state.starts, state.ranks))
        rows = following(self.key[first], line.numbers(value), line.numbers(free), least)
        left = line.places(least)
        state.starts[:], state.ranks[:] = left.time, left.rank
        return rows

    def _skipped_to(self, piece: Piece, times: Numbers) -> Numbers:
        """When the event starts that is skipped to; ABSENT where there is none."""
        names = [name for name in piece if base_of_output(name) == self.spec.variable]
        is_first = self.spec.skip == SkipTarget.FIRST_OF
        found = np.full(length(piece), np.iinfo(np.int64).max if is_first else ABSENT)
        for row, event in (_rows_and_events(piece[name]) for name in names):
            (np.minimum if is_first else np.maximum).at(found, row, times[event])
        return np.where(found == np.iinfo(np.int64).max, ABSENT, found)

    def _apart(self, piece: Piece) -> Piece:
        """Ends do not fall, and none is that of two matches: the others are left out already."""
        assert self.spec.suppress is not None
        first, end = _first_event(piece), self._end(piece)
        order = np.lexsort((end, self.instant[first]))
        key, end = self.key[first[order]], end[order]
        free = later(end, self.spec.suppress)
        return taken_matches(piece, order[following(key, end, free, self.state.ends)])


def base_of_output(name: EventName) -> EventName:
    """The variable that a column of matches is of, or is of an iteration of."""
    return base_of(name)


def _codes_of(column: Numbers | EventLists) -> Numbers:
    """A number for the events of each row: no list is like an empty one."""
    if not isinstance(column, EventLists):
        return column
    return EventLists(column.pool, column.begin, np.maximum(column.length, 0)).codes()


def _rows_and_events(column: Numbers | EventLists) -> tuple[Numbers, Numbers]:
    """The events of a column, each with its row."""
    if isinstance(column, EventLists):
        row, place = column.row_and_place()
        numbers = column.pool[place]
    else:
        row, numbers = np.arange(len(column)), column
    return row[numbers >= 0], numbers[numbers >= 0]


def _first_event(piece: Piece) -> Numbers:
    """The first event of each match: events are in the order of time."""
    first = np.full(length(piece), np.iinfo(np.int64).max)
    for column in piece.values():
        if isinstance(column, EventLists):
            np.minimum.at(first, *_rows_and_events(column))
        else:
            np.minimum(first, column, out=first, where=column >= 0)
    return first


def matches(
    program: PatternProgram,
    events: KernelEvents,
    most_rows: int = 2_000_000,
    most_matches: int | None = None,
    measures: StepMeasures | None = None,
    keeping: KeepingState | None = None,
) -> Iterator[Piece]:
    """The matches in pieces: the event of each output variable, -1 where it is absent.

    About `most_rows` partial matches are held at once, or the candidates of one. More than `most_matches`
    matches are an error. Steps are counted in `measures`, if it is given; `keeping` is what is known of
    matches that were kept before.
    """
    check(program)
    found = _matches(program, events, most_rows, measures)
    if program.furthest is not None:
        found = furthest(found, program, program.furthest, events)
    if program.kept is not None:
        found = kept(found, program, program.kept, events, keeping)
    return _limited(found, events, most_matches)


def _matches(
    program: PatternProgram, events: KernelEvents, most_rows: int, measures: StepMeasures | None
) -> Iterator[Piece]:
    for begin, group, line in groups(events):
        search = KernelSearch(program, group, line, most_rows, measures=measures)
        for piece in searched(search):
            yield moved(piece, begin)


def searched(search: KernelSearch) -> Iterator[Piece]:
    """The matches that a search finds, in pieces; of those with the same start, all."""
    program = search.program
    pieces = _owned_pieces(search)
    if program.collapsed:
        whole = collapsed(pieces, search.events)
        return iter([whole] if whole else [])
    one_of_many = program.furthest is not None or program.kept is not None
    return _each_once(pieces, search.most_rows) if program.unique and not one_of_many else pieces


def moved(piece: Piece, begin: int) -> Piece:
    """The matches with other numbers of events: the first one is number `begin`."""
    return {name: _moved(column, begin) for name, column in piece.items()} if begin else piece


def _moved(column: Numbers | EventLists, begin: int) -> Numbers | EventLists:
    return (
        column.shifted(begin)
        if isinstance(column, EventLists)
        else np.where(column < 0, column, column + begin)
    )


def _owned_pieces(search: KernelSearch) -> Iterator[Piece]:
    for frontier in run(search, search.program.steps, root()):
        piece = owned_piece(search, search.program.outputs, frontier)
        if length(piece):
            yield piece


def owned_piece(search: KernelSearch, outputs: tuple[VariableOutput, ...], frontier: Frontier) -> Piece:
    """The matches among rows that are complete: those that start in the owned range."""
    # The first event of a list stands for it: none of the others is earlier.
    members = {ElementName(one.variable, 1) if one.listed else one.variable for one in outputs}
    owned = _owned(search, frontier.only(members))
    return dict(columns_of(outputs, frontier if owned.all() else frontier.take(owned)))


def columns_of(
    outputs: tuple[VariableOutput, ...], rows: Frontier
) -> Iterator[tuple[EventName, Numbers | EventLists]]:
    for output in outputs:
        for name, _ in output.bound:
            if output.listed:
                yield name, rows.lists.get(name) or none(len(rows))
            else:
                yield name, rows.variables.get(name, np.full(len(rows), -1))


def _owned(search: KernelSearch, frontier: Frontier) -> Truths:
    """Matches that have an event, and start in the owned range."""
    bound = any_bound(frontier, frontier.variables)
    if not search.is_cut:
        return bound
    least = np.full(len(frontier), np.iinfo(np.int64).max)
    for numbers in frontier.variables.values():
        start = search.events.start[numbers]
        least = np.where(numbers < 0, least, np.minimum(least, start))
    low, high = (limit[frontier.segment] for limit in search.events.owned)
    return bound & (least >= low) & (least < high)


def _each_once(pieces: Iterator[Piece], most_rows: int) -> Iterator[Piece]:
    """All matches, without duplicates, in one piece."""
    kept: Piece = {}
    pending: list[Piece] = []
    for piece in pieces:
        pending.append(piece)
        if sum(map(length, pending)) > max(most_rows, length(kept)):
            kept, pending = _united([kept, *pending]), []
    united = _united([kept, *pending])
    if length(united):
        yield united


def _united(pieces: list[Piece]) -> Piece:
    pieces = [piece for piece in pieces if length(piece)]
    if not pieces:
        return {}
    whole = {name: united_columns([piece[name] for piece in pieces]) for name in pieces[0]}
    rows, _ = distinct(
        [column.codes() if isinstance(column, EventLists) else column for column in whole.values()]
    )
    return {
        name: column.take(rows) if isinstance(column, EventLists) else column[rows]
        for name, column in whole.items()
    }


def event_of(piece: Piece, row: int) -> int:
    """The first event of a match."""
    return min(int(numbers[row]) for numbers in _first_events(piece) if numbers[row] >= 0)


def first_start(piece: Piece, start: Numbers) -> Numbers:
    """When each match starts; `start` says when events do."""
    found = np.full(length(piece), np.iinfo(np.int64).max)
    for numbers in _first_events(piece):
        np.minimum(found, start[numbers], out=found, where=numbers >= 0)
    return found


def _first_events(piece: Piece) -> Iterator[Numbers]:
    """Of each variable, the event; of a list the first: none of the others is earlier."""
    return (column.at(0) if isinstance(column, EventLists) else column for column in piece.values())


def _limited(pieces: Iterator[Piece], events: KernelEvents, most: int | None) -> Iterator[Piece]:
    total = 0
    for piece in pieces:
        total += length(piece)
        if most is not None and total > most:
            segment = int(events.segment[event_of(piece, most - total)])
            message = f"more than {most} matches: {total} were found so far"
            raise KernelError("MAX_MATCHES", message, segment)
        yield piece
