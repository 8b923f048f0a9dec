"""EachElement: which rows have a list of which each element passes?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from neelc.runtime.elements import EachElement
from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.events import Events, Numbers, Truths, Values
from neelc.runtime.kernels.folding import folded
from neelc.runtime.kernels.frontier import Frontier
from neelc.runtime.kernels.lists import Lists
from neelc.runtime.kernels.players import Search
from neelc.runtime.program import Step

Run = Callable[[Search, tuple[Step, ...], Frontier], Iterator[Frontier]]

ELEMENT = "#element"
"""A mark that no pattern has."""


def each_element(search: Search, step: EachElement, frontier: Frontier, run: Run) -> Iterator[Frontier]:
    """The rows that are kept, in as many pieces as their elements take room for."""
    lists = frontier.lists.get(_list_of(step, step.names[0]))
    if lists is None:
        yield frontier
        return
    beyond = np.cumsum(np.maximum(lists.length, 0))
    begin = 0
    while begin < len(frontier):
        before = beyond[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(beyond, before + search.most_rows, "right")))
        piece = frontier.take(slice(begin, end))
        yield piece.take(_kept(search, step, piece, run))
        begin = end


def _kept(search: Search, step: EachElement, frontier: Frontier, run: Run) -> Truths:
    lists = frontier.lists[_list_of(step, step.names[0])]
    row, place = lists.row_and_place()
    number = place - lists.begin[row]
    last = lists.length[row] - step.unfinished
    asked = np.flatnonzero((number >= step.skipped) & (number < last))
    rows = frontier.take(row[asked])
    seen = dict(_seen(step, frontier, row, number, search.events))
    variables = {**rows.variables, **{name: numbers[asked] for name, numbers in seen.items()}}
    totals = _running(step, frontier, row[asked], number[asked], search.events)
    rows = replace(rows, variables=variables, totals={**rows.totals, **totals})
    rows = rows.marked(ELEMENT, np.arange(len(asked)))
    for mark, choices in _choices(step, variables, len(asked)).items():
        rows = rows.marked(mark, choices)
    passed = np.zeros(len(asked), bool)
    if len(asked):
        for piece in run(replace(search, prunes=False), step.steps, rows):
            passed[piece.mark(ELEMENT)] = True
    kept = np.ones(len(frontier), bool)
    kept[row[asked[~passed]]] = False
    return kept


def _seen(
    step: EachElement, frontier: Frontier, row: Numbers, number: Numbers, events: Events
) -> Iterator[tuple[str, Numbers]]:
    """The names of each element, and of its neighbours, as far as the steps ask for them."""
    lists = {name: frontier.lists[_list_of(step, name)] for name in step.names}
    asked = mentions.of_steps(step.steps)
    for name, found in lists.items():
        yield name, _at(found, row, number)
        start, end = f"{step.variable}[i-", "]" + name.removeprefix(f"{step.variable}[i]")
        for other in asked:
            back = other.removeprefix(start).removesuffix(end)
            if other == f"{start}{back}{end}" and back.isdigit():
                yield other, _at(found, row, number - int(back))
    for place, offset, times, is_better in (
        ("i-1", -1, events.end, np.greater),
        ("i+1", 1, events.start, np.less),
    ):
        if f"{step.variable}[{place}]" in asked:
            around = [_at(found, row, number + offset) for found in lists.values()]
            yield f"{step.variable}[{place}]", outermost(around, times, is_better)


def _running(
    step: EachElement, frontier: Frontier, row: Numbers, number: Numbers, events: Events
) -> dict[str, Values]:
    """The folds over the elements before some: each of them sees a shorter list."""
    found: dict[str, Values] = {}
    for fold in step.running:
        # Iterations are counted by any of the lists that they fill.
        lists = frontier.lists.get(fold.list, frontier.lists[_list_of(step, step.names[0])])
        found[fold.name] = folded(fold, Lists(lists.pool, lists.begin[row], number), events)
    return found


def _choices(step: EachElement, variables: Mapping[str, Numbers], rows: int) -> dict[str, Numbers]:
    found: dict[str, Numbers] = {}
    for mark, choice, names in step.marks:
        there = np.zeros(rows, bool)
        for name in names:
            there |= variables[name] >= 0
        found[mark] = np.where(there, choice, found.get(mark, np.zeros(rows, np.int64)))
    return found


def _at(lists: Lists, row: Numbers, number: Numbers) -> Numbers:
    """The elements with some numbers; -1 where there is none."""
    inside = (number >= 0) & (number < lists.length[row])
    return np.where(inside, lists.pool[np.where(inside, lists.begin[row] + number, 0)], -1)


def _list_of(step: EachElement, name: str) -> str:
    return step.variable + name.removeprefix(f"{step.variable}[i]")


def outermost(bound: list[Numbers], times: Numbers, is_better: np.ufunc) -> Numbers:
    """Of the events of an iteration the one that starts first, or that ends last; -1 where it has none."""
    best = bound[0]
    for numbers in bound[1:]:
        better = (best < 0) | ((numbers >= 0) & is_better(times[numbers], times[best]))
        best = np.where(better, numbers, best)
    return best
