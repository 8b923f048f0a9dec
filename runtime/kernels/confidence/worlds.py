"""The confidence of matches whose events have no one order: AND, windows of events, EXISTS, COLLAPSED.

A match stands in those worlds in which its events keep to the bounds of its steps (`replay.py`). So all
combinations of the times of its own events are made, as columns. Given these, what else decides is a matter
of single other events that are independent of one another: one must not be in a gap, one of several must be
in a gap, no more than some are inside the window. Their probabilities are computed without their times.

Where that is not so, because a check needs several events, or a match can be found in several ways, or lists
are collapsed, all combinations of the times of all these events are made.

Both are exact but for rounding, and both have a limit: MAX_INSTANTS, MAX_WORLDS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial, reduce
from itertools import combinations

import numpy as np

from neelc.runtime.failures import KernelError
from neelc.runtime.kernels.confidence.confidence import (
    CELLS,
    MAX_INSTANTS,
    NOTHING,
    Order,
    are_different,
    bound,
    in_any_order,
    owned,
    reaches,
    times_of,
)
from neelc.runtime.kernels.confidence.ranges import Chances, PossibleTimes, portions, within
from neelc.runtime.kernels.confidence.replay import Counting, TimedBinding, Times, interval, stands
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers, Truths
from neelc.runtime.kernels.frontier import EventLists, Frontier, both, concerned, distinct
from neelc.runtime.kernels.taking import FAR, ROW, KernelSearch
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    CONFIDENCE,
    EventName,
    FilterStep,
    InnerList,
    KernelStep,
    ListName,
    Rename,
    RepeatStep,
    Take,
    Value,
    WeighedCheck,
    WeighTimes,
    walk_steps,
)

Run = Callable[[KernelSearch, tuple[KernelStep, ...], Frontier], Iterator[Frontier]]

MAX_WORLDS = 1 << 20
"""How many combinations of times the events may have that decide together on one match."""

WIDE = 1 << 10
"""From so many combinations of times on, it is less work to go through all orders of a few events."""
MOST_ORDERED = 5
"""Of so many events at most all orders are made: 541."""

MOST_REQUIRED = 6
"""Of how many checks that must find something the probabilities are added and subtracted."""


def weigh_times(
    search: KernelSearch, step: WeighTimes[Value], pieces: Iterator[Frontier], run: Run
) -> Iterator[Frontier]:
    """The matches with their confidence, of rows that may be matches."""
    if step.united or step.collapsed:
        some = [piece for piece in pieces if len(piece)]
        pieces = iter([reduce(both, some)] if some else [])
    for piece in pieces:
        rows = _candidates(search, step, piece)
        if len(rows):
            yield from _weighed(search, step, rows, run)


def _candidates(search: KernelSearch, step: WeighTimes[Value], rows: Frontier) -> Frontier:
    """The rows that have no event twice, and that are to be found here."""
    listed = bound(rows, step.events)
    kept = are_different(listed) & (listed.counts[:, -1] > 0)
    if search.is_cut:
        kept &= owned(search.events, listed, rows.segment)
    return rows if kept.all() else rows.take(kept)


def _weighed(search: KernelSearch, step: WeighTimes[Value], rows: Frontier, run: Run) -> Iterator[Frontier]:
    task = WeighingTask(step, search.events, times_of(search.events), rows)
    task = replace(task, checks=tuple(_checked(search, check, rows, run) for check in step.checks))
    if step.collapsed:
        yield from _kept(step, *_collapsed(task))
        return
    group = _like(task) if step.united else np.arange(len(rows))
    ways = np.bincount(group)[group]
    direct = (ways == 1) & are_direct(task)
    alone = np.flatnonzero(direct)
    if len(alone):
        yield from _kept(step, rows.take(alone), _directly(task, alone))
    if not direct.all():
        groups = [np.flatnonzero(group == one) for one in np.unique(group[~direct]).tolist()]
        chances = np.array([_united(task, one) for one in groups])
        yield from _kept(step, rows.take(np.array([one[0] for one in groups])), chances)


def _kept(step: WeighTimes[Value], rows: Frontier, chances: Chances) -> Iterator[Frontier]:
    chances = np.minimum(chances, 1)
    weighed = replace(rows, totals={**rows.totals, CONFIDENCE: NullableArray(chances)})
    yield weighed.take((chances > 0) & reaches(chances, step.least, step.strictly))


def _like(task: WeighingTask) -> Numbers:
    """The number of its match for each row: rows with the same events are one match."""
    columns = [task.rows.segment]
    for name in task.step.events:
        lists = task.rows.lists.get(name) if isinstance(name, str | InnerList) else None
        if lists is not None:
            columns.append(lists.codes())
        elif name in task.rows.variables:
            columns.append(task.rows.variables[name])
    return distinct(columns)[1]


# What checks may find.


@dataclass(frozen=True, eq=False)
class CheckFindings:
    """What a check may find for rows: the rows of `found` have the number of their row as a mark."""

    check: WeighedCheck[Value]
    found: Frontier | None
    inner: tuple[CheckFindings, ...] = ()
    """What inner checks may find for the rows of `found`."""

    @property
    def row(self) -> Numbers:
        return np.zeros(0, np.int64) if self.found is None else self.found.mark(ROW)

    @property
    def is_single(self) -> bool:
        """Whether it is one event that is looked for, in a gap, whatever the choices of a row."""
        steps = list(walk_steps(self.check.steps))
        return (
            not self.check.checks
            and all(isinstance(step, Take | FilterStep) and not step.when for step in steps)
            and sum(isinstance(step, Take) for step in steps) == 1
        )


def _checked(search: KernelSearch, check: WeighedCheck[Value], rows: Frontier, run: Run) -> CheckFindings:
    marked = rows.marked(ROW, np.arange(len(rows)))
    which = concerned(marked, check.when)
    marked = marked.take(which) if not isinstance(which, bool) else marked if which else marked.take(slice(0))
    looking = replace(search.unowned(), prunes=False)
    pieces = [
        piece
        for steps in check.searches
        if len(marked)
        for piece in run(looking, steps, marked)
        if len(piece)
    ]
    if not pieces:
        return CheckFindings(check, None)
    found = reduce(both, pieces)
    return CheckFindings(check, found, tuple(_checked(search, inner, found, run) for inner in check.checks))


@dataclass(frozen=True, eq=False)
class WeighingTask:
    """Rows to be weighed, and what checks may find for them."""

    step: WeighTimes[Value]
    events: KernelEvents
    times: PossibleTimes
    rows: Frontier
    checks: tuple[CheckFindings, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether windows count events."""
        return self.step.counts or self.step.most_events is not None


# Rows whose checks look for single events: given the times of its own events, each other one is independent.


def are_direct(task: WeighingTask) -> bool:
    required = sum(found.check.must_exist for found in task.checks)
    is_single = all(found.is_single for found in task.checks)
    return is_single and required <= MOST_REQUIRED and not task.step.counts


def _directly(task: WeighingTask, rows: Numbers) -> Chances:
    """The confidence of each of some rows, those that are alike together."""
    result = np.zeros(len(rows))
    like = _shapes(task, rows)
    for shape in range(int(like.max()) + 1):
        which = np.flatnonzero(like == shape)
        table, names = _table(task, rows[which])
        lo, hi = task.times.lo[table], task.times.hi[table]
        widths = (hi - lo + 1).astype(np.float64).prod(axis=1)
        if widths.max() > WIDE and table.shape[1] <= MOST_ORDERED and _is_ordered(task, rows[which[0]]):
            binding = partial(_binding, task.rows, int(rows[which[0]]), names)
            orders = [order for order in weak_orders(table.shape[1]) if _stands(task, binding, order)]
            result[which] = in_any_order(task.times, table, orders, task.step.width)
            continue
        if widths.max() > MAX_INSTANTS:
            message = f"the events of a match have {widths.max():.3g} combinations of times"
            raise KernelError("MAX_INSTANTS", f"{message}: the limit MAX_INSTANTS is {MAX_INSTANTS}")
        for part in portions(widths.astype(np.int64), CELLS):
            given = RowsOfOneShape(task, rows[which[part]], table[part], names)
            result[which[part]] = given.chances()
    return result


def _is_ordered(task: WeighingTask, row: int) -> bool:
    """Whether nothing but the order of its own events and one window around them decides on a row, at times
    that are equally likely."""
    if not task.step.whole or task.counts or task.times.shapes is not None:
        return False
    marks = {**task.rows.choices, **{mark: int(made[row]) for mark, made in task.rows.marks.items()}}
    return not any(TimedBinding({}, {}, marks).made(found.check.when) for found in task.checks)


def _stands(task: WeighingTask, binding: Callable[[Sequence[Numbers]], TimedBinding], order: Order) -> bool:
    """Whether events in this order keep to the bounds, windows aside."""
    rank = {place: number for number, group in enumerate(order) for place in group}
    columns = [np.array([rank[place]]) for place in range(len(rank))]
    good, _ = stands(without_windows(task.step.steps), binding(columns), {})
    return bool(np.all(good))


@lru_cache(maxsize=64)
def without_windows(steps: tuple[KernelStep, ...]) -> tuple[KernelStep, ...]:
    """The steps with what they say of the order of events only."""
    return tuple(_without_windows(step) for step in steps)


def _without_windows(step: KernelStep) -> KernelStep:
    match step:
        case Take(bounds=bounds):
            return replace(step, bounds=replace(bounds, within=()))
        case RepeatStep(first=first, next=following):
            return replace(step, first=without_windows(first), next=without_windows(following))
    return step


@lru_cache(maxsize=16)
def weak_orders(count: int) -> tuple[Order, ...]:
    """All orders of some events, simultaneous ones included.

    >>> weak_orders(2), [len(weak_orders(count)) for count in range(1, 6)]
    ((((0, 1),), ((0,), (1,)), ((1,), (0,))), [1, 3, 13, 75, 541])
    """

    def orders(left: tuple[int, ...]) -> Iterator[Order]:
        if not left:
            yield ()
        for size in range(len(left), 0, -1):
            for first in combinations(left, size):
                for rest in orders(tuple(one for one in left if one not in first)):
                    yield (first, *rest)

    return tuple(orders(tuple(range(count))))


def _shapes(task: WeighingTask, rows: Numbers) -> Numbers:
    """A number for each row, the same where the same variables have events and lists are equally long."""
    columns = [np.zeros(len(rows), np.int64)]
    columns += [column[rows] for column in task.rows.marks.values()]
    columns += [(task.rows.variables[name][rows] >= 0).astype(np.int64) for name in _singles(task)]
    columns += [task.rows.lists[name].length[rows] for name in _lists(task)]
    return distinct(columns)[1]


def _singles(task: WeighingTask) -> list[EventName]:
    return [name for name in task.step.events if name in task.rows.variables and name not in task.rows.lists]


def _lists(task: WeighingTask) -> list[ListName]:
    return [
        name for name in task.step.events if isinstance(name, str | InnerList) and name in task.rows.lists
    ]


EventPlace = tuple[EventName, int | None]
"""A variable, or a list and a place in it."""


def _table(task: WeighingTask, rows: Numbers) -> tuple[Numbers, list[EventPlace]]:
    """The events of rows of one shape, a column for each, and what the columns are."""
    columns: list[Numbers] = []
    names: list[EventPlace] = []
    for name in _singles(task):
        numbers = task.rows.variables[name][rows]
        if numbers[0] >= 0:
            columns.append(numbers)
            names.append((name, None))
    for name in _lists(task):
        lists = task.rows.lists[name].take(rows)
        for place in range(int(lists.length[0])):
            columns.append(lists.at(place))
            names.append((name, place))
    return np.stack(columns, axis=1), names


def _binding(
    rows: Frontier, row: int, names: Sequence[EventPlace], columns: Sequence[Numbers]
) -> TimedBinding:
    """The times of the events of a row, by their names, with the choices of the row."""
    variables: dict[EventName, Numbers] = {}
    lists: dict[ListName, list[Numbers]] = {}
    for (name, place), column in zip(names, columns, strict=True):
        if place is None:
            variables[name] = column
        else:
            assert isinstance(name, str | InnerList)
            lists.setdefault(name, []).append(column)
    choices = {**rows.choices, **{mark: int(chosen[row]) for mark, chosen in rows.marks.items()}}
    return TimedBinding(variables, lists, choices)


@dataclass(frozen=True, eq=False)
class RowsOfOneShape:
    """Rows that have events for the same variables, and made the same choices."""

    task: WeighingTask
    rows: Numbers
    table: Numbers
    names: list[EventPlace]

    def chances(self) -> Chances:
        cell, columns, weight = combinations_of_times(self.task.times, self.table)
        binding = _binding(self.task.rows, int(self.rows[0]), self.names, columns)
        good, times = stands(self.task.step.steps, binding, {})
        good = np.broadcast_to(good, cell.shape)
        cell, weight = cell[good], weight[good]
        times = {name: time[good] for name, time in times.items()}
        checks = [found for found in self.task.checks if binding.made(found.check.when)]
        gaps = [_gap_of(found, times, len(cell)) for found in checks]
        limits = np.minimum.reduce([c[good] for c in columns]), np.maximum.reduce([c[good] for c in columns])
        others = Others(self, cell, limits, checks, gaps)
        result = np.zeros(len(self.rows))
        for sign, forbidden in _signed(checks):
            chance = others.chances(forbidden)
            result += sign * np.bincount(cell, weight * chance, len(self.rows))
        return np.where(result < NOTHING, 0, result) if checks else result


def _gap_of(found: CheckFindings, times: Times, count: int) -> tuple[Numbers, Numbers]:
    take = next(step for step in found.check.steps if isinstance(step, Take))
    low, high = interval(take.bounds, times)
    return np.broadcast_to(low, (count,)), np.broadcast_to(high, (count,))


def _signed(checks: Sequence[CheckFindings]) -> Iterator[tuple[int, list[int]]]:
    """The checks that must find nothing, once for each choice of some of the others: that all these find
    something is all, less that one finds nothing, and so on."""
    absent = [place for place, found in enumerate(checks) if not found.check.must_exist]
    required = [place for place, found in enumerate(checks) if found.check.must_exist]
    for count in range(len(required) + 1):
        for some in combinations(required, count):
            yield (-1) ** count, [*absent, *some]


def combinations_of_times(times: PossibleTimes, table: Numbers) -> tuple[Numbers, list[Numbers], Chances]:
    """All combinations of the times of the events of each row: the row, the time of each event, and how
    likely they are together.

    >>> times = PossibleTimes(np.array([1, 5]), np.array([2, 5]))
    >>> row, (first, second), weight = combinations_of_times(times, np.array([[0, 1], [1, 1]]))
    >>> row.tolist(), first.tolist(), second.tolist(), weight.tolist()
    ([0, 0, 1], [1, 2, 5], [5, 5, 5], [0.5, 0.5, 1.0])
    """
    lo, width = times.lo[table], times.hi[table] - times.lo[table] + 1
    count = width.prod(axis=1)
    row = np.repeat(np.arange(len(table)), count)
    rest = within(np.zeros_like(count), count)
    columns, weight = [], np.ones(len(row))
    for place in range(table.shape[1]):
        time = lo[row, place] + rest % width[row, place]
        rest = rest // width[row, place]
        weight = weight * times.mass(table[row, place], time)
        columns.append(time)
    kept = weight > 0
    if not kept.all():
        row, weight, columns = row[kept], weight[kept], [column[kept] for column in columns]
    return row, columns, weight


@dataclass(frozen=True, eq=False)
class Others:
    """The events beside those of a match that decide on it, given the times of its own: those that checks may
    find, in the gap of each, and those that may be inside the window, from the first to the last."""

    given: RowsOfOneShape
    cell: Numbers
    limits: tuple[Numbers, Numbers]
    checks: Sequence[CheckFindings]
    gaps: Sequence[tuple[Numbers, Numbers]]

    def chances(self, forbidden: Sequence[int]) -> Chances:
        """For each combination, the probability that none of these checks finds anything, and that the window
        is not too full."""
        events, members = self._events(forbidden)
        room = self._room(events)
        if room is not None and room < 0:
            return np.zeros(len(self.cell))
        state = np.zeros((len(self.cell), 1 if room is None else room + 1))
        state[:, :1] = 1
        for rank in range(events.shape[1]):
            event = events[self.cell, rank]
            there = np.flatnonzero(event >= 0)
            gaps = [
                (
                    np.where(member[self.cell[there], rank], self.gaps[place][0][there], FAR),
                    np.where(member[self.cell[there], rank], self.gaps[place][1][there], -FAR),
                )
                for place, member in zip(forbidden, members, strict=True)
            ]
            state[there] = self._with_event(state[there], event[there], there, gaps, room is not None)
        return np.asarray(state.sum(axis=1))

    def _with_event(
        self,
        state: Chances,
        event: Numbers,
        cells: Numbers,
        gaps: list[tuple[Numbers, Numbers]],
        counted: bool,
    ) -> Chances:
        """The probabilities, by the number of events inside the window, with one more event."""
        times = self.given.task.times
        clear = outside(times, event, gaps)
        if not counted:
            return np.asarray(state * clear[:, None])
        beyond = outside(times, event, [*gaps, (self.limits[0][cells], self.limits[1][cells])])
        changed = state * beyond[:, None]
        changed[:, 1:] += state[:, :-1] * (clear - beyond)[:, None]
        return changed

    def _room(self, events: Numbers) -> int | None:
        """How many of the others may be inside the window, if it counts and they may be too many."""
        most = self.given.task.step.most_events
        if most is None:
            return None
        room = most - self.given.table.shape[1]
        return None if room >= events.shape[1] else room

    def _events(self, forbidden: Sequence[int]) -> tuple[Numbers, list[Truths]]:
        """The events that matter to each row, as many columns as the most have, -1 where there is none; and
        for each check which of them it may find."""
        task, rows = self.given.task, self.given.rows
        number = np.full(len(task.rows), -1)
        number[rows] = np.arange(len(rows))
        pairs = [self._found(place, number) for place in forbidden]
        if task.step.most_events is not None:
            pairs.append(self._inside())
        row = np.concatenate([np.zeros(0, np.int64), *(one for one, _ in pairs)])
        event = np.concatenate([np.zeros(0, np.int64), *(one for _, one in pairs)])
        own = (event[:, None] == self.given.table[row]).any(axis=1)
        first, like = distinct([row, event])
        rank = np.full(len(first), -1)
        kept = np.flatnonzero(~own[first])
        rank[kept] = _ranks(row[first[kept]])
        width = int(rank.max(initial=-1)) + 1
        events = np.full((len(rows), width), -1)
        events[row[first[kept]], rank[kept]] = event[first[kept]]
        members, begin = [], 0
        for one, _ in pairs[: len(forbidden)]:
            member = np.zeros((len(rows), width), bool)
            place = rank[like[begin : begin + len(one)]]
            member[one[place >= 0], place[place >= 0]] = True
            members.append(member)
            begin += len(one)
        return events, members

    def _found(self, place: int, number: Numbers) -> tuple[Numbers, Numbers]:
        findings = self.checks[place]
        if findings.found is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        take = next(step for step in findings.check.steps if isinstance(step, Take))
        row, event = number[findings.row], findings.found.variables[take.variable]
        return row[row >= 0], event[row >= 0]

    def _inside(self) -> tuple[Numbers, Numbers]:
        """The events that may be inside the window of each row."""
        task, table = self.given.task, self.given.table
        return events_inside(task.events, task.times, table)


def _ranks(row: Numbers) -> Numbers:
    order = np.argsort(row, kind="stable")
    rank = np.empty(len(row), np.int64)
    rank[order] = np.arange(len(row)) - np.searchsorted(row[order], row[order])
    return rank


def events_inside(events: KernelEvents, times: PossibleTimes, table: Numbers) -> tuple[Numbers, Numbers]:
    """Rows, and events of their key that can be no earlier than the first and no later than the last event of
    the row. Events come by segment and then by their latest time."""
    segment = events.segment[table[:, 0]]
    begin, end = (np.searchsorted(events.segment, segment, side) for side in ("left", "right"))
    first, last = times.lo[table].min(axis=1), times.hi[table].max(axis=1)
    row = np.repeat(np.arange(len(table)), end - begin)
    event = within(begin, end)
    fits = (times.hi[event] >= first[row]) & (times.lo[event] <= last[row])
    return row[fits], event[fits]


def outside(times: PossibleTimes, event: Numbers, gaps: Sequence[tuple[Numbers, Numbers]]) -> Chances:
    """The probability that each event is in none of its gaps; these may overlap, or have no time.

    >>> times, zero = PossibleTimes(np.array([1]), np.array([10])), np.array([0])
    >>> gap = lambda low, high: (np.array([low]), np.array([high]))
    >>> outside(times, zero, [gap(4, 6), gap(2, 5), gap(9, 8)]).round(9).tolist()
    [0.5]
    """
    result, reached = np.zeros(len(event)), np.full(len(event), -FAR)
    if gaps:
        lows, highs = np.stack([low for low, _ in gaps]), np.stack([high for _, high in gaps])
        lows = np.where(lows <= highs, lows, FAR)
        order = np.argsort(lows, axis=0, kind="stable")
        lows, highs = np.take_along_axis(lows, order, axis=0), np.take_along_axis(highs, order, axis=0)
        for low, high in zip(lows, highs, strict=True):
            real = (low < FAR) & (low > reached)
            result += np.where(real, times.until(event, low - 1) - times.until(event, reached), 0)
            reached = np.where(low < FAR, np.maximum(reached, high), reached)
    return np.asarray(result + times.after(event, reached))


# All combinations of the times of all events that decide on a match.


@dataclass(frozen=True, eq=False)
class DecidingEvents:
    """The ways to find a match, rows of a task, and the events that any of them depends on: `time` has all
    combinations of their times, `weight` how likely each is."""

    task: WeighingTask
    ways: Numbers
    time: Mapping[int, Numbers]
    weight: Chances

    def stands(self, way: int) -> Truths:
        """In which combinations a way is a match."""
        task = self.task
        binding = self._timed(task.rows, way, task.step.events)
        counting = self._counting(way) if task.counts else None
        good, times = stands(task.step.steps, binding, {}, counting)
        good = np.broadcast_to(good, self.weight.shape)
        return good & self._passes(task.checks, way, binding, times, counting)

    def _timed(self, rows: Frontier, row: int, names: Sequence[EventName]) -> TimedBinding:
        places = list(_places(rows, row, names))
        columns = [self.time[event] for _, event in places]
        return _binding(rows, row, [place for place, _ in places], columns)

    def _passes(
        self,
        checks: Sequence[CheckFindings],
        row: int,
        binding: TimedBinding,
        times: Times,
        counting: Counting | None,
    ) -> Truths:
        """In which combinations checks find for a row what must be there, and nothing that must not."""
        good = np.ones(self.weight.shape, bool)
        for findings in checks:
            if binding.made(findings.check.when):
                hit = self._hit(findings, row, times, counting)
                good &= hit if findings.check.must_exist else ~hit
        return good

    def _hit(self, findings: CheckFindings, row: int, times: Times, counting: Counting | None) -> Truths:
        hit = np.zeros(self.weight.shape, bool)
        if findings.found is None:
            return hit
        for place in np.flatnonzero(findings.row == row).tolist():
            found = self._timed(findings.found, place, _bound_names(findings))
            good, later = stands(findings.check.steps, found, times, counting)
            hit |= good & self._passes(findings.inner, place, found, later, counting)
        return hit

    def _counting(self, way: int) -> Counting:
        """How many events of the key are between two times."""
        segment = int(self.task.rows.segment[way])
        events = [one for one in self.time if self.task.events.segment[one] == segment]

        def count(first: Numbers, last: Numbers) -> Numbers:
            inside = ((first <= self.time[event]) & (self.time[event] <= last) for event in events)
            return sum((one.astype(np.int64) for one in inside), np.zeros((), np.int64))

        return count


def _places(rows: Frontier, row: int, names: Sequence[EventName]) -> Iterator[tuple[EventPlace, int]]:
    """The events of a row, and what it has them for."""
    for name in names:
        lists = rows.lists.get(name) if isinstance(name, str | InnerList) else None
        if lists is not None:
            for place in range(int(lists.length[row])):
                yield (name, place), int(lists.at(place)[row])
        elif name in rows.variables and rows.variables[name][row] >= 0:
            yield (name, None), int(rows.variables[name][row])


def _found_events(checks: Sequence[CheckFindings], row: int) -> Iterator[int]:
    """The events that checks may find for a row."""
    for findings in checks:
        for place in np.flatnonzero(findings.row == row).tolist():
            assert findings.found is not None, "it has rows"
            yield from (event for _, event in _places(findings.found, place, _bound_names(findings)))
            yield from _found_events(findings.inner, place)


def _bound_names(findings: CheckFindings) -> list[EventName]:
    """The variables and the lists that a check binds."""
    names: dict[EventName, None] = {}
    for step in findings.check.steps:
        match step:
            case Take(variable=variable):
                names[variable] = None
            case Rename(new=new):
                names[new] = None
            case RepeatStep(names=iteration):
                names |= dict.fromkeys(name.events for name in iteration)
    return list(names)


def deciding(task: WeighingTask, ways: Numbers) -> DecidingEvents:
    """All combinations for some ways; raises `KernelError` if there are too many."""
    needed: dict[int, None] = {}
    for way in ways.tolist():
        own = [event for _, event in _places(task.rows, way, task.step.events)]
        own += _found_events(task.checks, way)
        needed |= dict.fromkeys(own)
        if task.counts:
            _, others = events_inside(task.events, task.times, np.array([own]))
            needed |= dict.fromkeys(others.tolist())
    table = np.array([list(needed)])
    count = (task.times.hi[table] - task.times.lo[table] + 1.0).prod()
    if count > MAX_WORLDS:
        message = f"{len(needed)} events that decide together on a match have {count:.3g} possible worlds"
        raise KernelError("MAX_WORLDS", f"{message}: the limit MAX_WORLDS is {MAX_WORLDS}")
    _, columns, weight = combinations_of_times(task.times, table)
    return DecidingEvents(task, ways, dict(zip(needed, columns, strict=True)), weight)


def _united(task: WeighingTask, ways: Numbers) -> float:
    """The probability that one of the ways is a match."""
    found = deciding(task, ways)
    good = np.zeros(found.weight.shape, bool)
    for way in ways.tolist():
        good |= found.stands(way)
    return float(found.weight[good].sum())


# RETURN COLLAPSED: in each world one match for each choice of the single events, with all elements.


@dataclass(frozen=True, eq=False)
class ListElements:
    """The elements that lists of some ways have: numbers of events for each list."""

    of: dict[ListName, list[int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(map(len, self.of.values()))


def _collapsed(task: WeighingTask) -> tuple[Frontier, Chances]:
    """A row for each set of elements that the lists of a choice can have, and how likely it is."""
    columns = [task.rows.segment]
    columns += [task.rows.variables[name] for name in _singles(task)]
    columns += [(task.rows.lists[name].length < 0).astype(np.int64) for name in _lists(task)]
    group = distinct(columns)[1]
    source: list[int] = []
    chances: list[float] = []
    elements: dict[ListName, list[list[int]]] = {name: [] for name in _lists(task)}
    for one in range(int(group.max()) + 1):
        ways = np.flatnonzero(group == one)
        for chosen, chance in _sets_of_elements(task, ways):
            source.append(int(ways[0]))
            chances.append(chance)
            for name, kept in chosen.items():
                elements[name].append(kept)
    rows = task.rows.take(np.array(source, np.int64))
    lists = {name: _as_lists(task, kept, rows.lists[name]) for name, kept in elements.items()}
    return replace(rows, lists={**rows.lists, **lists}), np.array(chances)


def _sets_of_elements(task: WeighingTask, ways: Numbers) -> Iterator[tuple[dict[ListName, list[int]], float]]:
    """The sets of elements that the lists have in some world, and how likely each is."""
    found = deciding(task, ways)
    bits: dict[tuple[ListName, int], int] = {}
    code = np.zeros(found.weight.shape, object if len(found.time) * len(_lists(task)) > 62 else np.int64)
    alive = np.zeros(found.weight.shape, bool)
    for way in ways.tolist():
        good, own = found.stands(way), 0
        for (name, place), event in _places(task.rows, way, task.step.events):
            if place is not None:
                assert isinstance(name, str | InnerList)
                own |= 1 << bits.setdefault((name, event), len(bits))
        alive |= good
        code[good] |= own
    codes, like = np.unique(code[alive], return_inverse=True)
    chances = np.bincount(like, found.weight[alive], len(codes))
    for one, chance in zip(codes.tolist(), chances.tolist(), strict=True):
        chosen: dict[ListName, list[int]] = {name: [] for name in _lists(task)}
        for (name, event), bit in bits.items():
            if one >> bit & 1:
                chosen[name].append(event)
        yield chosen, chance


def _as_lists(task: WeighingTask, elements: list[list[int]], before: EventLists) -> EventLists:
    """The elements by their earliest and then by their latest time; rows without a list stay without."""

    def time(event: int) -> tuple[int, int, int]:
        return int(task.times.lo[event]), int(task.times.hi[event]), event

    pool = [event for some in elements for event in sorted(some, key=time)]
    counts = np.array([len(some) for some in elements], np.int64)
    begin = np.cumsum(counts) - counts
    return EventLists(np.array(pool, np.int64), begin, np.where(before.length < 0, -1, counts))
