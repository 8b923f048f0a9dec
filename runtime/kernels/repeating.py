"""Repeat: lists grow by one iteration after the other, and each list that is long enough is a result.

Depth first: the lists with one more iteration are brought to their end before more of their like are begun,
so that few of them are in memory at once, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from neelc.runtime.failures import MAX_LISTS
from neelc.runtime.kernels.elements import outermost
from neelc.runtime.kernels.errors import KernelError
from neelc.runtime.kernels.folding import folded
from neelc.runtime.kernels.frontier import Frontier, place_of
from neelc.runtime.kernels.lists import Lists, empty
from neelc.runtime.kernels.operations import holds, seen
from neelc.runtime.kernels.players import Search
from neelc.runtime.program import Choose, Fold, Repeat, Step

Run = Callable[[Search, tuple[Step, ...], Frontier], Iterator[Frontier]]

# A mark that no pattern has.
EARLY = "#early"

MOST_LISTS = 500_000_000
"""So many lists are tried for the matches of one run of rows."""


def repeat(search: Search, step: Repeat, frontier: Frontier, run: Run) -> Iterator[Frontier]:
    """The rows with each of their lists, in pieces."""
    frontier = _promising(search, step, frontier, run)
    lists = {list_of(step, name): empty(len(frontier)) for name in step.names}
    pending: list[Iterator[Frontier]] = [iter([replace(frontier, lists={**frontier.lists, **lists})])]
    while pending:
        piece = next(pending[-1], None)
        if piece is None:
            pending.pop()
            continue
        if not len(piece):
            continue
        count = len(pending) - 1
        if count:
            _count_up(search, piece)
            piece = _iterated(search, step, piece, count)
        if count >= step.least:
            yield _complete(search, step, piece, count)
        if step.most is None or count < step.most:
            if count:
                piece = _folded(search, step, step.running, piece)
            # Lists take room: the longer they are, the fewer are made at once.
            most = max(1000, search.most_rows // (4 * (count + 1)))
            narrow = replace(search, most_rows=most, prunes=False)
            pending.append(run(narrow, step.next if count else step.first, piece))


def _promising(search: Search, step: Repeat, frontier: Frontier, run: Run) -> Frontier:
    """The rows for which no early condition fails on the list of all events that could be elements."""
    if not step.early or not len(frontier):
        return frontier
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for piece in run(
        replace(search, prunes=False), step.first, frontier.marked(EARLY, np.arange(len(frontier)))
    ):
        found.append((piece.mark(EARLY), piece.variables[step.names[0]]))
    row, events = (np.concatenate(columns) for columns in zip(*found, strict=True))
    counts = np.bincount(row, minlength=len(frontier)).astype(np.int64)
    every = Lists(events[np.argsort(row, kind="stable")], np.cumsum(counts) - counts, counts)
    # A user's function is never asked of what is no list: nothing is known of what it says of parts.
    own = (fold for fold in step.final if not fold.registered)
    totals = {fold.name: folded(fold, every, search.events) for fold in own}
    lookup = seen(replace(frontier, totals={**frontier.totals, **totals}))
    kept = np.ones(len(frontier), bool)
    for condition in step.early:
        kept &= holds(condition, lookup, search.events, len(frontier))
    return frontier.take(kept)


def list_of(step: Repeat, name: str) -> str:
    """The list that a name of an iteration belongs to.

    >>> pairs = Repeat("k", ("k[i].a", "k[i].b"), (), ())
    >>> list_of(pairs, "k[i].b"), list_of(Repeat("b", ("b[i]",), (), ()), "b[i]")
    ('k.b', 'b')
    """
    return step.variable + name.removeprefix(f"{step.variable}[i]")


def placed(step: Repeat, name: str, place: str) -> str:
    """The same of another iteration.

    >>> placed(Repeat("k", ("k[i].a",), (), ()), "k[i].a", "last")
    'k[last].a'
    """
    return f"{step.variable}[{place}]" + name.removeprefix(f"{step.variable}[i]")


def _iterated(search: Search, step: Repeat, frontier: Frontier, count: int) -> Frontier:
    """The rows after iteration number `count`: what it has bound is the last element, and the one before the
    next."""
    bound = {name: frontier.variables.get(name, np.full(len(frontier), -1)) for name in step.names}
    lists, variables = dict(frontier.lists), dict(frontier.variables)
    for name, numbers in bound.items():
        variables.pop(name, None)
        if list_of(step, name) in lists:
            lists[list_of(step, name)] = lists[list_of(step, name)].appended(numbers, count - 1)
        for place in ("i-1", "last", *(("1",) if count == 1 else ())):
            variables[placed(step, name, place)] = numbers
    if len(bound) > 1 or step.names[0] != f"{step.variable}[i]":
        if count == 1:
            variables[f"{step.variable}[1]"] = outermost(list(bound.values()), search.events.start, np.less)
        variables[f"{step.variable}[last]"] = outermost(list(bound.values()), search.events.end, np.greater)
    # The next iteration makes its own choices.
    made = choices((*step.first, *step.next))
    return replace(
        frontier,
        variables=variables,
        lists=lists,
        marks={mark: chosen for mark, chosen in frontier.marks.items() if mark not in made},
        choices={mark: choice for mark, choice in frontier.choices.items() if mark not in made},
    )


@lru_cache(maxsize=1024)
def choices(steps: tuple[Step, ...]) -> frozenset[str]:
    """The marks of the choices that steps make."""
    return frozenset(step.mark for step in steps if isinstance(step, Choose))


def _complete(search: Search, step: Repeat, frontier: Frontier, count: int) -> Frontier:
    """Rows whose list is complete."""
    gone = {placed(step, name, "i-1") for name in step.names} | {fold.name for fold in step.running}
    kept = replace(
        frontier,
        variables={name: numbers for name, numbers in frontier.variables.items() if name not in gone},
        totals={name: total for name, total in frontier.totals.items() if name not in gone},
    )
    named = {
        placed(step, name, place): frontier.lists[list_of(step, name)].at_place(place)
        for name in step.names
        for place in step.places
        if list_of(step, name) in frontier.lists
    }
    kept = replace(kept, variables={**kept.variables, **named})
    return _folded(search, step, step.final, kept)


def _folded(search: Search, step: Repeat, folds: tuple[Fold, ...], frontier: Frontier) -> Frontier:
    if not folds:
        return frontier
    # Iterations are counted by any of the lists that they fill.
    counted = frontier.lists[list_of(step, step.names[0])]
    totals = {
        fold.name: folded(fold, frontier.lists.get(fold.list, counted), search.events) for fold in folds
    }
    return replace(frontier, totals={**frontier.totals, **totals})


def _count_up(search: Search, frontier: Frontier) -> None:
    search.tried[0] += len(frontier)
    if search.tried[0] > MOST_LISTS:
        number = search.tried[0]
        message = f"{number} lists were tried for the closures of the pattern, {MOST_LISTS} is the most"
        raise KernelError(MAX_LISTS, message, *place_of(frontier, search.events), number, MOST_LISTS)
