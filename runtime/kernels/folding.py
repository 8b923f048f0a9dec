"""Aggregates over lists, for many lists at once: of lists that grow, and of whole ones, element by element.

What is known of a list so far is kept in parts, so that a list that grows to thousands of elements is not
looked at again for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from neelc.runtime import user_calls as calling
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers, Truths
from neelc.runtime.kernels.frontier import EventLists, Frontier
from neelc.runtime.kernels.nested import Iterations, listed, names_in_lists, outermost
from neelc.runtime.kernels.taking import KernelSearch
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    EachElement,
    EventName,
    Fold,
    IterationName,
    KernelStep,
    Value,
    iteration_of,
    listed_in,
    names_of_steps,
)
from neelc.runtime.values import arithmetic
from neelc.runtime.values.arithmetic import Array, less

Parts = tuple[Array, ...]
"""The state of the lists so far, an entry for each in each array."""


@dataclass(frozen=True)
class Accumulator:
    """The state at the beginning, for a number of lists of values of a type; the state with one more value,
    where there is one; the result."""

    begin: Callable[[int, np.dtype[Any]], Parts]
    add: Callable[[Parts, Array, Truths], Parts]
    end: Callable[[Parts], NullableArray]


def begun(fold: Fold, rows: int, events: KernelEvents) -> Parts:
    """Of empty lists."""
    if fold.is_called:
        return (calling.nothing(rows),)
    kind = np.dtype(np.int64) if fold.column is None else events.columns[fold.column].values.dtype
    return _accumulator(fold, kind).begin(rows, kind)


def added(fold: Fold, parts: Parts, numbers: Numbers, events: KernelEvents) -> Parts:
    """With one more event in each list; in none where its number is -1, unless it is a user's function."""
    if fold.is_called:
        return (calling.grown(parts[0], numbers),)
    known = numbers >= 0
    if fold.column is None:
        return (parts[0] + known,)
    column = events.columns[fold.column]
    if column.valid is not None:
        known = known & column.valid[numbers]
    with np.errstate(all="ignore"):
        return _accumulator(fold, column.values.dtype).add(parts, column.values[numbers], known)


def ended(fold: Fold, parts: Parts, events: KernelEvents) -> NullableArray:
    """The value of the fold."""
    if fold.is_called:
        return calling.results(events.calls[fold.name], parts[0])
    if fold.column is None:
        return NullableArray(parts[0])
    with np.errstate(all="ignore"):
        result = _accumulator(fold, events.columns[fold.column].values.dtype).end(parts)
        return arithmetic.cast(result, fold.type) if isinstance(fold.type, str) else result


def folded(fold: Fold, lists: EventLists, events: KernelEvents) -> NullableArray:
    """The fold of each row's list.

    >>> prices = NullableArray(np.array([2.0, 5.0, 4.0]), np.array([True, True, False]))
    >>> nowhere = np.zeros(3, np.int64)
    >>> events = KernelEvents(nowhere, nowhere, nowhere, {}, {"price": prices}, (nowhere, nowhere))
    >>> lists = EventLists(np.arange(3), np.array([0, 2]), np.array([3, 1]))
    >>> total = folded(Fold("t", "sum", "b", "price"), lists, events)
    >>> total.values.tolist(), total.valid.tolist()
    ([7.0, 0.0], [True, False])
    """
    if fold.is_called:
        return calling.results(events.calls[fold.name], calling.members(lists))
    if fold.column is None:
        return NullableArray(np.maximum(lists.length, 0))
    parts = begun(fold, len(lists), events)
    for place in range(int(lists.length.max(initial=0))):
        parts = added(fold, parts, lists.at(place), events)
    return ended(fold, parts, events)


def _accumulator(fold: Fold, kind: np.dtype[Any]) -> Accumulator:
    if fold.column is None:
        return COUNT
    return WHOLE_SUM if fold.function == "sum" and kind.kind != "f" else FUNCTIONS[fold.function]


def _begin_sum(rows: int, kind: np.dtype[Any]) -> Parts:
    return np.zeros(rows), np.zeros(rows, np.int64)


def _add_float(parts: Parts, values: Array, known: Truths) -> Parts:
    total, count = parts
    # The first value itself, not 0 + it: -0.0 stays -0.0.
    more = np.where(count == 0, values, total + values)
    return np.where(known, more, total), count + known


def _add_whole(parts: Parts, values: Array, known: Truths) -> Parts:
    whole, found, fits = parts
    more, right = arithmetic.plus(whole, np.where(known, values, 0).astype(np.int64))
    return more, found | known, fits & right


def _best(is_better: Callable[[Array, Array], Truths]) -> Accumulator:
    def add(parts: Parts, values: Array, known: Truths) -> Parts:
        best, found = parts
        new = known & (~found | is_better(values, best))
        return np.where(new, values, best), found | known

    return Accumulator(
        lambda rows, kind: (np.zeros(rows, kind), np.zeros(rows, bool)),
        add,
        lambda parts: NullableArray(*parts),
    )


def _variance(sample: bool, root: bool) -> Accumulator:
    """Welford's way, as Spark's: one pass, without the difference of two large sums."""

    def add(parts: Parts, values: Array, known: Truths) -> Parts:
        count, mean, squares = parts
        count = count + known
        delta = values - mean
        nearer = mean + delta / np.maximum(count, 1)
        squares = np.where(known, squares + delta * (values - nearer), squares)
        return count, np.where(known, nearer, mean), squares

    def end(parts: Parts) -> NullableArray:
        count, _, squares = parts
        result = squares / np.maximum(count - sample, 1)
        return NullableArray(np.sqrt(result) if root else result, count > sample)

    return Accumulator(lambda rows, kind: (np.zeros(rows), np.zeros(rows), np.zeros(rows)), add, end)


COUNT = Accumulator(
    lambda rows, kind: (np.zeros(rows, np.int64),),
    lambda parts, values, known: (parts[0] + known,),
    lambda parts: NullableArray(parts[0]),
)
WHOLE_SUM = Accumulator(
    lambda rows, kind: (np.zeros(rows, np.int64), np.zeros(rows, bool), np.ones(rows, bool)),
    _add_whole,
    lambda parts: NullableArray(parts[0], parts[1] & parts[2]),
)
FLOAT_SUM = Accumulator(_begin_sum, _add_float, lambda parts: NullableArray(parts[0], parts[1] > 0))
AVERAGE = Accumulator(
    _begin_sum, _add_float, lambda parts: NullableArray(parts[0] / np.maximum(parts[1], 1), parts[1] > 0)
)

FUNCTIONS: Mapping[str, Accumulator] = {
    "avg": AVERAGE,
    "count": COUNT,
    "first": _best(lambda one, other: np.zeros(len(one), bool)),
    "last": _best(lambda one, other: np.ones(len(one), bool)),
    "max": _best(lambda one, other: less(other, one)),
    "mean": AVERAGE,
    "min": _best(less),
    "stddev": _variance(sample=True, root=True),
    "stddev_pop": _variance(sample=False, root=True),
    "stddev_samp": _variance(sample=True, root=True),
    "sum": FLOAT_SUM,
    "var_pop": _variance(sample=False, root=False),
    "var_samp": _variance(sample=True, root=False),
    "variance": _variance(sample=True, root=False),
}


# EachElement: which rows have a list whose elements all pass?

Run = Callable[[KernelSearch, tuple[KernelStep, ...], Frontier], Iterator[Frontier]]

ELEMENT = "#element"
"""A mark that no pattern has."""


def each_element(
    search: KernelSearch, step: EachElement[Value], frontier: Frontier, run: Run
) -> Iterator[Frontier]:
    """The rows that are kept, in as many pieces as their elements take room for."""
    lists = frontier.lists.get(listed_in(step.names[0], step.variable))
    if lists is None:
        yield frontier
        return
    lists = lists.elements
    beyond = np.cumsum(np.maximum(lists.length, 0))
    begin = 0
    while begin < len(frontier):
        before = beyond[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(beyond, before + search.most_rows, "right")))
        piece = frontier.take(slice(begin, end))
        yield piece.take(_kept(search, step, piece, run))
        begin = end


def _kept(search: KernelSearch, step: EachElement[Value], frontier: Frontier, run: Run) -> Truths:
    lists = frontier.lists[listed_in(step.names[0], step.variable)].elements
    row, place = lists.row_and_place()
    number = place - lists.begin[row]
    last = lists.length[row] - step.unfinished
    checked = np.flatnonzero((number >= step.skipped) & (number < last))
    row, number = row[checked], number[checked]
    rows = frontier.take(row)
    these = Iterations(step.variable, step.names, frontier.lists, row, number)
    variables = {**rows.variables, **dict(_seen(step, these, search.events))}
    inner = dict(these.inner_lists())
    totals = _running(step, frontier, row, number, search.events)
    totals |= _inside(step, these, search.events)
    rows = replace(rows, variables=variables, lists={**rows.lists, **inner}, totals={**rows.totals, **totals})
    rows = rows.marked(ELEMENT, np.arange(len(checked)))
    for mark, choices in _choices(step, variables, these).items():
        rows = rows.marked(mark, choices)
    passed = np.zeros(len(checked), bool)
    if len(checked):
        for piece in run(replace(search, prunes=False), step.steps, rows):
            passed[piece.mark(ELEMENT)] = True
    kept = np.ones(len(frontier), bool)
    kept[row[~passed]] = False
    return kept


def _seen(
    step: EachElement[Value], these: Iterations, events: KernelEvents
) -> Iterator[tuple[EventName, Numbers]]:
    """The names of each element, and of its neighbours, as far as the steps need them."""
    own = (name for name in step.names if name.list == step.variable)
    lists = {name: these.lists[name.events] for name in own}
    row, number = these.row, these.number
    needed = names_of_steps(step.steps)
    for name, found in lists.items():
        yield name, _at(found, row, number)
        for other in needed:
            if isinstance(other, IterationName) and other.lag > 0 and replace(other, lag=0) == name:
                yield other, _at(found, row, number - other.lag)
    ends = ((1, -1, events.last_moment, np.greater), (-1, 1, events.first_moment, np.less))
    for lag, place, times, is_better in ends:
        neighbour = IterationName(step.variable, lag=lag)
        if neighbour in needed:
            other_one = replace(these, number=number - lag, found={})
            around = [_at(found, row, number - lag) for found in lists.values()]
            yield neighbour, outermost([*around, *other_one.ends(place)], times, is_better)
    for inside in names_in_lists(tuple(needed), step.variable):
        iteration = iteration_of(inside, step.variable)
        if isinstance(iteration, IterationName) and these.leaves(inside):
            meant = replace(these, number=number - iteration.lag, found={}) if iteration.lag else these
            yield inside, meant.event(inside, events)


def _running(
    step: EachElement[Value], frontier: Frontier, row: Numbers, number: Numbers, events: KernelEvents
) -> dict[str, NullableArray]:
    """The folds over the elements before some: each of them sees a shorter list."""
    found: dict[str, NullableArray] = {}
    for fold in step.running:
        lists = listed(frontier.lists, step.names, step.variable, fold.list)
        found[fold.name] = folded(fold, lists.until(row, number), events)
    return found


def _inside(
    step: EachElement[Value], these: Iterations, events: KernelEvents
) -> Iterator[tuple[str, NullableArray]]:
    """The folds over lists that the elements have, or those before them."""
    for fold in step.inner:
        iteration = iteration_of(fold.list, step.variable)
        assert isinstance(iteration, IterationName), "the list of an element"
        meant = replace(these, number=these.number - iteration.lag, found={}) if iteration.lag else these
        yield fold.name, folded(fold, meant.inner_list(fold.list), events)


def _choices(
    step: EachElement[Value], variables: Mapping[EventName, Numbers], these: Iterations
) -> dict[str, Numbers]:
    found: dict[str, Numbers] = {}
    rows = len(these.row)
    for mark, choice, names in step.marks:
        there = np.zeros(rows, bool)
        for name in names:
            # A list that a choice has bound may be empty, but it is there.
            there |= (variables[name] if name in variables else these.inner_list(name).length) >= 0
        found[mark] = np.where(there, choice, found.get(mark, np.zeros(rows, np.int64)))
    return found


def _at(lists: EventLists, row: Numbers, number: Numbers) -> Numbers:
    """The elements with some numbers; -1 where there is none."""
    inside = (number >= 0) & (number < lists.length[row])
    return np.where(inside, lists.pool[np.where(inside, lists.begin[row] + number, 0)], -1)
