"""Follow: runs that take one event after the other. All runs of all keys take their next event together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from neelc.runtime.failures import MAX_LISTS, KernelError
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers, Truths
from neelc.runtime.kernels.folding import Parts, added, begun, ended, folded
from neelc.runtime.kernels.frontier import EventLists, Frontier, both, chosen, place_of, root
from neelc.runtime.kernels.runs.courses import (
    KINDS,
    Courses,
    RunPaths,
    as_frontier,
    iterations_named,
    paths,
)
from neelc.runtime.kernels.taking import (
    FAR,
    Candidates,
    KernelSearch,
    Players,
    Room,
    equation,
    is_own,
    narrowed,
    rooms,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    FIRST,
    LAST,
    NEXT,
    SAME,
    ElementName,
    EventName,
    Fold,
    Follow,
    InnerList,
    IterationName,
    KernelStep,
    ListName,
    Move,
    MoveCondition,
    State,
    Take,
    Value,
    base_of,
    iteration_of,
    list_of,
    listed_in,
    names_of_steps,
    names_of_value,
)
from neelc.runtime.values.operations import Lookup, holds

# What the moves of runs need: computed once for a step, as there may be many rounds.


@dataclass(frozen=True)
class StateNeeds:
    """What the runs in a state must remember: variables, and lists whose elements are needed again.
    `numbered` are those of the variables that the last event has for ever, if its iteration has that number:
    `b[1]`."""

    variables: frozenset[EventName]
    lists: frozenset[ListName]
    numbered: tuple[tuple[EventName, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Leg:
    """A move, and the folds that its conditions read: of lists before the move, and of the list that
    is complete with its event."""

    move: Move[Value]
    folds: tuple[Fold, ...]
    grown: Mapping[str, Fold]


@dataclass(frozen=True, eq=False)
class Route:
    """A step, prepared: for each state the moves that begin there, and what runs in it must remember; the
    folds that moves read."""

    follow: Follow[Value]
    begin: tuple[Leg, ...]
    legs: tuple[tuple[Leg, ...], ...]
    needs: tuple[StateNeeds, ...]
    folds: tuple[Fold, ...]


@lru_cache(maxsize=256)
def route(step: Follow[Value]) -> Route:
    legs = [_leg(step, move) for move in step.moves]
    return Route(
        step,
        tuple(leg for leg in legs if leg.move.source < 0),
        tuple(tuple(leg for leg in legs if leg.move.source == state) for state in range(len(step.states))),
        needs(step),
        _folds(step),
    )


def _leg(step: Follow[Value], move: Move[Value]) -> Leg:
    named = {name for value in move.conditions for name in names_of_value(value)}
    variable = step.states[move.target].list
    grown = {fold.name: fold for fold in step.final if fold.list == variable and fold.name in named}
    folds = (fold for fold in (*step.running, *step.final) if fold.name in named and fold.name not in grown)
    return Leg(move, tuple(folds), grown)


def _folds(step: Follow[Value]) -> tuple[Fold, ...]:
    named = {name for move in step.moves for value in move.conditions for name in names_of_value(value)}
    return tuple(fold for fold in (*step.running, *step.final) if fold.name in named)


def needs(step: Follow[Value]) -> tuple[StateNeeds, ...]:
    """For each state, what the runs in it must remember.

    >>> from neelc.runtime.program import Apply, ColumnValue, State, Take
    >>> less = Apply("<", (ColumnValue("a", "x"), ColumnValue("c", "x")))
    >>> takes = (Take("a", "A"), Take("b", "B"), Take("c", "C", where=(less,)))
    >>> moves = tuple(Move(number - 1, number, take) for number, take in enumerate(takes))
    >>> [sorted(one.variables) for one in needs(Follow((State("a"), State("b"), State("c")), moves))]
    [['a'], ['a'], []]
    """
    lists = frozenset(one.each for move in step.moves for one in move.judged if one.each)
    by_state = [frozenset[EventName]() for _ in step.states]
    changed = True
    while changed:
        changed = False
        for move in step.moves:
            if move.source < 0:
                continue
            required = by_state[move.source] | _before(step, move, by_state[move.target])
            changed |= required != by_state[move.source]
            by_state[move.source] = required
    folds = {fold.name for fold in (*step.running, *step.final)}
    return tuple(
        StateNeeds(frozenset(names - folds), lists, tuple(_numbered(state, names - folds)))
        for state, names in zip(step.states, by_state, strict=True)
    )


def _numbered(state: State, names: frozenset[EventName]) -> Iterator[tuple[ElementName, int]]:
    """
    >>> names = (ElementName("k", 1), ElementName("k", 2, "a"), ElementName("k", 2, "b"), "c")
    >>> found = _numbered(State(IterationName("k", "a"), "k"), frozenset(names))
    >>> sorted((str(name), number) for name, number in found)
    [('k[1]', 1), ('k[2].a', 2)]
    """
    inner = state.variable.inner if isinstance(state.variable, IterationName) else None
    for name in sorted(names, key=str):
        match name:
            case ElementName(of, 1) if of == state.list_inside:
                yield name, 1
            case ElementName(of, place, part) if of == state.list and place > 0 and part in (None, inner):
                yield name, place


def _before(step: Follow[Value], move: Move[Value], after: frozenset[EventName]) -> frozenset[EventName]:
    """What must be known before a move, if this much must be known after it."""
    named = {name for value in move.conditions for name in names_of_value(value)}
    named |= {name for one in move.judged for name in one.present}
    named |= {name for within in move.take.bounds.within for name in within.events}
    each = (one.each for one in move.judged if one.each)
    elements = {IterationName(name, lag=lag) for name in each for lag in (0, 1)}
    state = step.states[move.target]
    names = ((named - elements) | after) - {state.variable}
    if move.iteration == FIRST and state.list is not None:
        # Of a list that begins there was nothing before.
        names = {name for name in names if list_of(name) is None or base_of(name) != state.list}
    old = {new: old for old, new in move.renames}
    gone = {one for one, _ in move.renames}
    return frozenset(old.get(name, name) for name in names if name in old or name not in gone)


# Where the candidates of runs begin and end among the players.
#
# Runs that must take neighbours try nearly every event as the next one of every other. A search in sorted
# times costs as much as all else that they do with an event; for all events at once it is cheap, since one
# lies behind the other. So it is done once for each event, and runs read what is found for their last one.

LIMITS = "#limits"
BEGIN, END = "#begin", "#end"


def first_places(
    search: KernelSearch,
    take: Take[Value],
    players: Players,
    frontier: Frontier,
    time: Room,
    is_neighbour: bool,
) -> Numbers:
    """For each run, the place of the first player that starts late enough."""
    if is_neighbour and _is_last_alone(search, take, frontier):
        found = _known(players, BEGIN, lambda: _after(players, search.timeline.time.end))
        return found[frontier.variables[LAST]]
    return np.searchsorted(players.start, time.start, "left")


def last_places(
    search: KernelSearch,
    take: Take[Value],
    players: Players,
    frontier: Frontier,
    time: Room,
    is_neighbour: bool,
) -> Numbers:
    """For each run, the place behind the last player that starts early enough; as a neighbour of its last
    event, if it must be one."""
    if not is_neighbour:
        return _after(players, time.end)
    if _is_last_alone(search, take, frontier):
        found = _known(players, END, lambda: _after(players, _limits(search)))[frontier.variables[LAST]]
        if any(within.events for within in take.bounds.within):
            return np.minimum(found, _after(players, time.end))
        return found
    return _after(players, np.minimum(time.end, _limits(search)[frontier.variables[LAST]]))


def _after(players: Players, times: Numbers) -> Numbers:
    return np.searchsorted(players.start, times, "right")


def _is_last_alone(search: KernelSearch, take: Take[Value], frontier: Frontier) -> bool:
    """Whether the last event of a run is the latest of all that the next one must come after. Of events that
    last, another one may end later."""
    bounds = take.bounds
    plain = not (search.events.lasting or bounds.between or bounds.before)
    return plain and bounds.after == (LAST,) and LAST in frontier.variables


def _known(players: Players, name: str, find: Callable[[], Numbers]) -> Numbers:
    if name not in players.indexes:
        players.indexes[name] = find()
    found = players.indexes[name]
    assert isinstance(found, np.ndarray)
    return found


def _limits(search: KernelSearch) -> Numbers:
    """For each event, until when a neighbour of it starts (docs/decisions/0011): up to the end of whatever
    ends first of all that starts after it, and in its own segment."""
    if LIMITS not in search.found:
        time = search.timeline.time
        numbers = np.arange(len(time.start))
        everything = Players(len(numbers), numbers, time.start, time.end, None, None)
        following = np.minimum(np.searchsorted(time.start, time.end, "right"), len(numbers) - 1)
        ends = np.minimum(time.end[everything.soonest[following]], time.high[search.events.segment])
        search.found[LIMITS] = Players(len(numbers), numbers, time.start, ends, None, None)
    return search.found[LIMITS].end


# The checks of moves: runs with the event that they may take, seen as a whole.
#
# To look at all events of a run takes time proportional to its length. Only conditions that need more than
# the event that is taken and what a run remembers are checked in this way.

Run = Callable[[KernelSearch, tuple[KernelStep, ...], Frontier], Iterator[Frontier]]

PAIR = "#pair"
"""A mark that no pattern has."""


def passing(
    search: KernelSearch,
    follow: Follow[Value],
    move: Move[Value],
    courses: Courses,
    node: Numbers | None,
    event: Numbers,
    run: Run,
) -> Truths:
    """Which runs, each known by its last node, pass the checks of a move with an event; None: there is
    nothing before it."""
    passed = np.zeros(len(event), bool)
    for begin, end in _pieces_to_check(courses, node, len(event), search.most_rows):
        before = None if node is None else node[begin:end]
        longer = _longer_checks(courses, before, event[begin:end], move)
        found = as_frontier(follow, longer, root(), search.events)
        rows = with_totals(follow, move.checks, found, search.events).marked(PAIR, np.arange(begin, end))
        for piece in run(replace(search, prunes=False), move.checks, rows):
            passed[piece.mark(PAIR)] = True
    return passed


def _pieces_to_check(
    courses: Courses, node: Numbers | None, count: int, most: int
) -> Iterator[tuple[int, int]]:
    """Runs that have about `most` events together, one after the other."""
    size = np.ones(count, np.int64) if node is None else courses.depth[node] + 1
    beyond = np.cumsum(size)
    begin = 0
    while begin < count:
        before = beyond[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(beyond, before + most, "right")))
        yield begin, end
        begin = end


def _longer_checks(courses: Courses, node: Numbers | None, event: Numbers, move: Move[Value]) -> RunPaths:
    """All events of the runs, the new one included."""
    alone = Courses()
    last = paths(alone, alone.add(event, None, move.target, move.iteration))
    if node is None:
        return last
    before = paths(courses, node)
    ends = np.cumsum(courses.depth[node])
    return RunPaths(
        len(event),
        np.insert(before.row, ends, last.row),
        np.insert(before.event, ends, last.event),
        np.insert(before.state, ends, last.state),
        np.insert(before.kind, ends, last.kind),
    )


def with_totals(
    follow: Follow[Value], steps: tuple[KernelStep, ...], found: Frontier, events: KernelEvents
) -> Frontier:
    """The runs with all aggregates of their lists that steps read."""
    named = names_of_steps(steps)
    final = (fold for fold in follow.final if fold.name in named)
    totals = {fold.name: folded(fold, _list_of(fold, follow, found), events) for fold in final}
    return replace(found, totals=totals)


def _list_of(fold: Fold, follow: Follow[Value], found: Frontier) -> EventLists:
    """The list of a fold; to count iterations, that of any of their variables."""
    if fold.list in found.lists:
        return found.lists[fold.list]
    for closure in follow.closures:
        if iteration_of(fold.list, closure.variable) is not None:
            length = found.lists[listed_in(closure.names[0], closure.variable)].elements.length
            return iterations_named(fold.list, closure, found.lists, length).inner_list(fold.list)
    inner = (name for name in found.lists if isinstance(name, InnerList) and name.list == fold.list)
    return found.lists[next(inner)].elements


# Which events the next one of a run can be.

NODE, COUNT, INNER = "#node", "#count", "#inner"
"""Columns of a table of runs: the node of the event taken last, the iterations of the list that it is in, the
elements of a list inside of the iteration."""

Pairs = tuple[Numbers, Numbers]
"""Rows, and for each the place of a player."""


@dataclass(frozen=True, eq=False)
class MoveOption:
    """What runs can do next: one of their moves, for those `rows` that may make it; None: for all."""

    route: Route
    leg: Leg
    rows: Numbers | None
    these: Candidates
    courses: Courses
    run: Run

    @property
    def move(self) -> Move[Value]:
        return self.leg.move

    @property
    def is_exact(self) -> bool:
        """Does every candidate that starts in time qualify?"""
        return self.these.are_exact and not self.move.judged and not self.move.checks

    def fitting(self, row: Numbers, place: Numbers) -> Pairs:
        """Those of the pairs that qualify."""
        row, place = self.these.fitting(row, place)
        for condition in self.move.judged:
            which = _holds(self, condition, row, place)
            row, place = row[which], place[which]
        if self.move.checks and len(row):
            which = self._passing(row, place)
            row, place = row[which], place[which]
        return row, place

    def _passing(self, row: Numbers, place: Numbers) -> Truths:
        node = None if self.move.source < 0 else self.these.frontier.marks[NODE][row]
        event, follow = self.these.players.numbers[place], self.route.follow
        return passing(self.these.search, follow, self.move, self.courses, node, event, self.run)


def option(
    search: KernelSearch, route: Route, leg: Leg, frontier: Frontier, courses: Courses, run: Run
) -> MoveOption | None:
    """A move of runs that are all in its source; None if none of them may make it."""
    move = leg.move
    may: Truths | None = None
    for mark, least, most in ((COUNT, move.least, move.most), (INNER, *move.left)):
        if least > 1 or most is not None:
            count = frontier.marks[mark]
            enough = count >= least if most is None else (count >= least) & (count <= most)
            may = enough if may is None else may & enough
    rows = None if may is None or may.all() else np.flatnonzero(may)
    if rows is not None:
        if not len(rows):
            return None
        frontier = frontier.take(rows)
    for old, new in move.renames:
        frontier = frontier.renamed(old, new)
    if leg.folds:
        totals = {fold.name: _total(fold, frontier, search.events) for fold in leg.folds}
        frontier = replace(frontier, totals={**frontier.totals, **totals})
    return MoveOption(route, leg, rows, _candidates(search, route.follow, move, frontier), courses, run)


def _total(fold: Fold, frontier: Frontier, events: KernelEvents) -> NullableArray:
    return ended(fold, parts_of(fold, frontier, events), events)


def parts_of(fold: Fold, frontier: Frontier, events: KernelEvents) -> Parts:
    """What a table of runs knows of the lists of a fold."""
    names = [name for name in frontier.totals if name.startswith(f"{fold.name}#")]
    parts = tuple(frontier.totals[f"{fold.name}#{number}"].values for number in range(len(names)))
    return parts or begun(fold, len(frontier), events)


def _candidates(
    search: KernelSearch, follow: Follow[Value], move: Move[Value], frontier: Frontier
) -> Candidates:
    """The players that are late enough, and not too late."""
    take, players = move.take, search.players(move.take)
    time, place = rooms(take.bounds, frontier, search.timeline)
    is_neighbour = follow.contiguous and move.source >= 0
    left = first_places(search, take, players, frontier, time, is_neighbour)
    joint = tuple(condition for condition in take.where if not is_own(condition, take))
    is_equal = bool(joint) and equation(take, frontier, search.events) is not None
    if not (follow.contiguous or place is not None or is_equal):
        # Runs look at few candidates: each of these is compared with `time.end`.
        right = np.full(len(left), len(players.start))
        return Candidates(search, take, frontier, players, time, place, joint, left, right)
    right = last_places(search, take, players, frontier, time, is_neighbour)
    if place is not None and players.first is not None and players.beyond is not None:
        upper = players.first if search.events.lasting else players.beyond
        right = np.minimum(right, np.searchsorted(upper, place.end, "right"))
    right = np.maximum(left, right)
    these = Candidates(search, take, frontier, players, time, place, joint, left, right)
    found = None
    if is_equal and not follow.contiguous:
        found = narrowed(take, frontier, search.events, players, left, right)
    return these if found is None else replace(these, order=found[0], left=found[1], right=found[2])


def _holds(option: MoveOption, condition: MoveCondition[Value], row: Numbers, place: Numbers) -> Truths:
    """The pairs for which a condition holds, or is not evaluated."""
    frontier = option.these.frontier
    which = np.ones(len(row), bool)
    for name in condition.present:
        numbers = frontier.variables.get(name)
        which &= False if numbers is None else numbers[row] >= 0
    evaluated = np.flatnonzero(which)
    row, place = row[evaluated], place[evaluated]
    if condition.each is not None:
        result = _holds_for_each(option, condition, row, place)
    else:
        result = holds(condition.condition, _lookup(option, row, place), option.these.search.events, len(row))
    which[:] = True
    which[evaluated] = result
    return which


def _lookup(option: MoveOption, row: Numbers, place: Numbers) -> Lookup:
    """What conditions see of a run and the event that it may take."""
    these, grown = option.these, option.leg.grown
    numbers, events = these.players.numbers[place], these.search.events

    def lookup(name: EventName) -> Numbers | NullableArray | None:
        if name == these.step.variable:
            return numbers
        if isinstance(name, str) and name in grown:
            parts = tuple(part[row] for part in parts_of(grown[name], these.frontier, events))
            return ended(grown[name], added(grown[name], parts, numbers, events), events)
        if isinstance(name, str) and name in these.frontier.totals:
            return chosen(these.frontier.totals[name], row)
        column = these.frontier.variables.get(name)
        return None if column is None else column[row]

    return lookup


def _holds_for_each(
    option: MoveOption, condition: MoveCondition[Value], row: Numbers, place: Numbers
) -> Truths:
    """Whether a condition holds for each element of a list: from the last one on, back to the first."""
    assert condition.each is not None, "a condition on the elements of a list"
    courses, which = option.courses, np.ones(len(row), bool)
    nodes = option.these.frontier.marks.get(f"#{condition.each}")
    if nodes is None:
        return which
    pairs = np.flatnonzero(nodes[row] >= 0)
    node = nodes[row[pairs]]
    while len(pairs):
        is_first = courses.kind[node] == KINDS[FIRST]
        before = np.where(is_first, -1, courses.parent[node])
        inner = _lookup(option, row[pairs], place[pairs])
        own: dict[EventName, Numbers] = {
            IterationName(condition.each): courses.event[node],
            IterationName(condition.each, lag=1): np.where(is_first, -1, courses.event[before]),
        }
        holding = holds(condition.condition, _either(own, inner), option.these.search.events, len(pairs))
        if condition.looks_back:
            holding = holding | is_first
        which[pairs[~holding]] = False
        going = holding & ~is_first
        pairs, node = pairs[going], before[going]
    return which


def _either(own: Mapping[EventName, Numbers], others: Lookup) -> Lookup:
    return lambda name: own[name] if name in own else others(name)


# Which events runs take next: those that qualify at the next instant at which one does.

FIRST_TRIED = 1
"""How many candidates of a run are tried at first."""


def next_pairs(options: Sequence[MoveOption], rows: int, contiguous: bool) -> list[Pairs]:
    """For each of the options of as many runs, the pairs of a run and an event that it takes."""
    return [all_pairs(one) for one in options] if contiguous else _at_the_next_instant(options, rows)


def all_pairs(option: MoveOption) -> Pairs:
    left, right = option.these.left, option.these.right
    return option.fitting(*spread(np.arange(len(left)), left, right))


def spread(row: Numbers, left: Numbers, right: Numbers) -> Pairs:
    """Each row with each place from `left` to before `right`.

    >>> [found.tolist() for found in spread(np.array([5, 6]), np.array([0, 7]), np.array([1, 9]))]
    [[5, 6, 6], [0, 7, 8]]
    """
    counts = right - left
    beyond = np.cumsum(counts)
    total = int(beyond[-1]) if len(beyond) else 0
    return np.repeat(row, counts), np.arange(total) + np.repeat(left - beyond + counts, counts)


def _at_the_next_instant(options: Sequence[MoveOption], rows: int) -> list[Pairs]:
    best = np.full(rows, FAR)
    found: list[Numbers] = [np.zeros(0, np.int64)] * len(options)
    # What costs nothing comes first: the others need not look further than it.
    for number in sorted(range(len(options)), key=lambda number: not options[number].is_exact):
        one = options[number]
        limit = best if one.rows is None else best[one.rows]
        found[number] = _first(one, limit)
        limit = np.minimum(limit, _starts(one, found[number]))
        if one.rows is None:
            best = limit
        else:
            best[one.rows] = limit
    return [
        _with_ties(one, places, best if one.rows is None else best[one.rows])
        for one, places in zip(options, found, strict=True)
    ]


def _starts(option: MoveOption, places: Numbers) -> Numbers:
    start = option.these.players.start
    return np.where(places >= 0, start[places], FAR) if len(start) else np.full(len(places), FAR)


def _first(option: MoveOption, limit: Numbers) -> Numbers:
    """For each run the place of the first player that qualifies and starts by `limit`; -1: none."""
    these = option.these
    left, right, start = these.left.copy(), these.right, these.players.start
    best = np.full(len(left), -1)
    limit = np.minimum(limit, these.time.end)
    rows = np.flatnonzero(left < right)
    tried = FIRST_TRIED
    while len(rows):
        first = these.places(left[rows])
        near = start[first] <= limit[rows]
        rows, first = rows[near], first[near]
        if option.is_exact:
            best[rows] = first
            break
        tried = max(1, min(tried, these.search.most_rows // max(1, len(rows))))
        ends = np.minimum(left[rows] + tried, right[rows])
        if tried == 1:
            row, place = option.fitting(rows, first)
        else:
            row, number = spread(rows, left[rows], ends)
            place = these.places(number)
            near = start[place] <= limit[row]
            row, place = option.fitting(row[near], place[near])
        # In reverse: the first of each row is written last.
        best[row[::-1]] = place[::-1]
        left[rows] = ends
        rows = rows[(ends < right[rows]) & (best[rows] < 0)]
        tried *= 2
    return best


def _with_ties(option: MoveOption, places: Numbers, best: Numbers) -> Pairs:
    """The runs whose first player is at the best instant, and all others that qualify at that instant."""
    start = option.these.players.start
    row = np.flatnonzero(places >= 0)
    place = places[row]
    at_best = start[place] == best[row]
    row, place = row[at_best], place[at_best]
    following = np.minimum(place + 1, len(start) - 1)
    tied = np.flatnonzero((following > place) & (start[following] == start[place]))
    if not len(tied):
        return row, place
    beyond = np.searchsorted(start, start[place[tied]], "right")
    others = option.fitting(*spread(row[tied], following[tied], beyond))
    return np.concatenate((row, others[0])), np.concatenate((place, others[1]))


MOST_TAKEN = 500_000_000
"""How many events the runs of one run of rows may take."""

Front = Mapping[int, Frontier]
"""Runs, by the state that they are in."""


def follow(search: KernelSearch, step: Follow[Value], frontier: Frontier, run: Run) -> Iterator[Frontier]:
    """The matches, in pieces. `frontier` is one row, which has made choices and has no events."""
    assert len(frontier) == 1 and not frontier.variables, "a run begins with nothing"
    search = search.unowned()
    for leg in route(step).begin:
        start = option(search, route(step), leg, root(), Courses(), run)
        assert start is not None, "every run may begin"
        count = len(start.these.players.numbers)
        for begin in range(0, count, search.most_rows):
            places = np.arange(begin, min(begin + search.most_rows, count))
            yield from _followed(search, replace(start, courses=Courses()), places, frontier)


def _followed(
    search: KernelSearch, start: MoveOption, places: Numbers, frontier: Frontier
) -> Iterator[Frontier]:
    """The matches of the runs that start with some of the players."""
    step = start.route.follow
    places = places[_owned(search, start.these.players.numbers[places])]
    row, place = start.fitting(np.zeros(len(places), np.int64), places)
    courses = start.courses
    fronts: list[Front] = [{start.move.target: _longer(search, start, row, place)}]
    while fronts:
        front = fronts.pop()
        for state, runs in front.items():
            _note(courses, step, state, runs)
        if courses.waiting > search.most_rows:
            yield _matches(search, step, courses, frontier)
        fronts += _pieces(_advanced(search, start.route, front, courses, start.run), search.most_rows)
    yield _matches(search, step, courses, frontier)


def _owned(search: KernelSearch, numbers: Numbers) -> Truths:
    """A match belongs to where its first event is."""
    low, high = search.events.owned
    start, segment = search.events.start[numbers], search.events.segment[numbers]
    owned: Truths = (start >= low[segment]) & (start < high[segment])
    return owned


def _note(courses: Courses, step: Follow[Value], state: int, runs: Frontier) -> None:
    """Runs that are complete as they are."""
    least = step.states[state].accepts
    if least is not None and len(runs):
        node, inner = runs.marks[NODE], step.states[state].inner
        enough = np.ones(len(node), bool) if least <= 1 else runs.marks[COUNT] >= least
        if inner > 1:
            enough &= runs.marks[INNER] >= inner
        courses.note(node if enough.all() else node[enough])


def _matches(search: KernelSearch, step: Follow[Value], courses: Courses, frontier: Frontier) -> Frontier:
    found = as_frontier(step, paths(courses, courses.noted()), frontier, search.events)
    return with_totals(step, search.program.steps, found, search.events)


def _advanced(search: KernelSearch, way: Route, front: Front, courses: Courses, run: Run) -> Front:
    """The runs with one more event, in every way that there is."""
    found: dict[int, Frontier] = {}
    for state, runs in front.items():
        made = (option(search, way, leg, runs, courses, run) for leg in way.legs[state])
        options = [one for one in made if one is not None]
        pairs = next_pairs(options, len(runs), way.follow.contiguous)
        for one, (row, place) in zip(options, pairs, strict=True):
            if len(row):
                longer = _longer(search, one, row, place)
                target = one.move.target
                found[target] = both(found[target], longer) if target in found else longer
    taken = sum(map(len, found.values()))
    search.tried[0] += taken
    if search.tried[0] > MOST_TAKEN:
        number, runs = search.tried[0], next(runs for runs in found.values() if len(runs))
        message = f"{number} events were taken by runs of the pattern, {MOST_TAKEN} is the most"
        raise KernelError(MAX_LISTS, message, *place_of(runs, search.events), number, MOST_TAKEN)
    return found


def _pieces(front: Front, most: int) -> list[Front]:
    """The runs, in parts that are not too large."""
    if sum(map(len, front.values())) <= most:
        return [front] if front else []
    return [
        {state: runs.take(slice(begin, begin + most))}
        for state, runs in front.items()
        for begin in range(0, len(runs), most)
    ]


def _longer(search: KernelSearch, one: MoveOption, row: Numbers, place: Numbers) -> Frontier:
    """The runs of some rows with the players at these places."""
    way, move, before, courses = one.route, one.move, one.these.frontier, one.courses
    numbers = one.these.players.numbers[place]
    begins = move.source < 0
    node = courses.add(numbers, None if begins else before.marks[NODE][row], move.target, move.iteration)
    state, needed = way.follow.states[move.target], way.needs[move.target]
    count = _count(move, before, row)
    variables = {
        name: before.variables[name][row] if name in before.variables else np.full(len(row), -1)
        for name in needed.variables
    }
    variables |= _of_new_iteration(move, state, variables)
    for name, number in needed.numbered:
        if list_of(name) == state.list_inside:
            if move.inner == FIRST:
                variables[name] = numbers
        elif number > 1 or move.iteration != NEXT:
            old = np.full(len(row), -1) if move.iteration == FIRST else variables[name]
            variables[name] = np.where((count == number) & (old < 0), numbers, old)
    if state.variable in variables:
        variables[state.variable] = numbers
    variables[LAST] = numbers
    marks = {f"#{name}": _list_node(name, before, row) for name in needed.lists}
    if state.list in needed.lists:
        marks[f"#{state.list}"] = node
    marks |= {NODE: node, COUNT: count}
    if move.inner != SAME:
        marks[INNER] = _count_inside(move, before, row)
    totals = _totals(way, move, before, row, numbers, search.events) if way.folds else {}
    return Frontier(variables, marks, search.events.segment[numbers], {}, {}, totals)


def _count(move: Move[Value], before: Frontier, row: Numbers) -> Numbers:
    if move.iteration == FIRST:
        return np.ones(len(row), np.int64)
    return before.marks[COUNT][row] + (move.iteration != SAME)


def _count_inside(move: Move[Value], before: Frontier, row: Numbers) -> Numbers:
    """The elements of the list inside of an iteration that the event is of."""
    return before.marks[INNER][row] + 1 if move.inner == NEXT else np.ones(len(row), np.int64)


def _of_new_iteration(
    move: Move[Value], state: State, variables: Mapping[EventName, Numbers]
) -> dict[EventName, Numbers]:
    """Nothing, for what a new iteration has not bound: the elements of lists inside of it."""
    if move.iteration == SAME or state.list is None:
        return {}
    return {
        name: np.full(len(column), -1)
        for name, column in variables.items()
        if isinstance(name, ElementName) and name.list != state.list and base_of(name) == state.list
    }


def _list_node(name: ListName, before: Frontier, row: Numbers) -> Numbers:
    column = before.marks.get(f"#{name}")
    return np.full(len(row), -1) if column is None else column[row]


def _totals(
    way: Route, move: Move[Value], before: Frontier, row: Numbers, numbers: Numbers, events: KernelEvents
) -> dict[str, NullableArray]:
    """What is known of lists after a move."""
    state, found = way.follow.states[move.target], dict[str, NullableArray]()
    own = state.variable.events if isinstance(state.variable, IterationName) else None
    for fold in way.folds:
        mine = tuple(part[row] for part in parts_of(fold, before, events))
        begins = fold.column is None and fold.list == state.list and move.iteration != SAME
        if begins or (fold.column is not None and fold.list == own):
            mine = added(fold, mine, numbers, events)
        found |= {f"{fold.name}#{number}": NullableArray(part) for number, part in enumerate(mine)}
    return found
