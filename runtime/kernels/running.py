"""Steps, one after the other, on tables of partial matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from neelc.runtime.failures import MAX_LISTS, KernelError
from neelc.runtime.kernels.confidence.confidence import likely, weigh
from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.kernels.folding import each_element, folded
from neelc.runtime.kernels.frontier import (
    EventLists,
    Frontier,
    any_bound,
    both,
    concerned,
    distinct,
    empty,
    none,
    place_of,
)
from neelc.runtime.kernels.nested import (
    Iterations,
    depth_in,
    inner_names,
    listed,
    names_in_lists,
    number_of,
    outermost,
)
from neelc.runtime.kernels.runs.following import follow
from neelc.runtime.kernels.taking import ROW, KernelSearch, is_plain, occupied, rooms, take
from neelc.runtime.program import (
    ALL,
    ANY,
    Absent,
    AnyBound,
    Choose,
    EachElement,
    ElementName,
    EventName,
    FilterStep,
    Fold,
    Follow,
    IterationName,
    KernelStep,
    Likely,
    ListName,
    Present,
    Rename,
    RepeatStep,
    Take,
    Value,
    Weigh,
    folds,
    is_composite,
    iteration_of,
    listed_in,
    names_of_step,
    names_of_steps,
    names_of_value,
)
from neelc.runtime.values.operations import holds, seen

# Absent and Present: which rows can steps extend?
#
# One way is enough, and rows that look alike are tried once.

Run = Callable[[KernelSearch, tuple[KernelStep, ...], Frontier], Iterator[Frontier]]


def extended(search: KernelSearch, steps: tuple[KernelStep, ...], frontier: Frontier, run: Run) -> Truths:
    """The rows that the steps can extend."""
    if search.program.nested:
        return _one_by_one(search, steps, frontier, run)
    if (step := only_plain(search, steps)) is not None:
        return occupied(search.unowned(), step, rooms(step.bounds, frontier, search.timeline)[0])
    inner = frontier.only(names_of_steps(steps))
    rows, like = None, None
    if len(inner.variables) < len(frontier.variables) and len(frontier) > 1 and not inner.totals:
        codes = (lists.codes() for lists in inner.lists.values())
        rows, like = distinct([inner.segment, *inner.variables.values(), *inner.marks.values(), *codes])
        inner = inner.take(rows)
    found = np.zeros(len(inner), bool)
    for piece in run(_looking(search), settled(steps), inner.marked(ROW, np.arange(len(inner)))):
        found[piece.marks[ROW]] = True
    return found if like is None else found[like]


def only_plain(search: KernelSearch, steps: tuple[KernelStep, ...]) -> Take[Value] | None:
    """The one step that there is, if it is a matter of time alone whether it finds an event."""
    match steps:
        case (Take() as step,) if is_plain(search, step):
            return step
    return None


def _looking(search: KernelSearch) -> KernelSearch:
    return replace(search.unowned(), prunes=True)


def _one_by_one(search: KernelSearch, steps: tuple[KernelStep, ...], frontier: Frontier, run: Run) -> Truths:
    """The same, as iterative nested execution does it: for every row, all that the steps find."""
    found = np.zeros(len(frontier), bool)
    for piece in run(search.unowned(), steps, frontier.marked(ROW, np.arange(len(frontier)))):
        found[piece.marks[ROW]] = True
    return found


@lru_cache(maxsize=1024)
def settled(steps: tuple[KernelStep, ...]) -> tuple[KernelStep, ...]:
    """Where no later step depends on which event was taken, any will do.

    >>> [str(step.pick) for step in settled((Take("x", "A"), Take("y", "B", differs=("x",))))]
    ['ALL', 'ANY']
    """
    return tuple(
        replace(step, pick=ANY)
        if isinstance(step, Take) and step.variable not in names_of_steps(steps[place + 1 :])
        else step
        for place, step in enumerate(steps)
    )


def pruned(frontier: Frontier, step: KernelStep, later: tuple[KernelStep, ...]) -> Frontier:
    """The rows after an inner step, without what no later step needs, each once."""
    kept = frontier.only({ROW, *names_of_steps(later)})
    if len(kept.variables) == len(frontier.variables) or not (isinstance(step, Take) and step.pick == ALL):
        return kept
    rows, _ = distinct([kept.segment, *kept.marks.values(), *kept.variables.values()])
    return kept if len(rows) == len(kept) else kept.take(np.sort(rows))


# Repeat: lists grow by one iteration after the other, and each list that is long enough is a result.
#
# Depth first: the lists with one more iteration are brought to their end before more of their like are
# begun, so that few of them are in memory at once, however many there are.


# A mark that no pattern has.
EARLY = "#early"

MOST_LISTS = 500_000_000
"""How many lists may be tried for the matches of one run of rows."""


def repeat(search: KernelSearch, step: RepeatStep[Value], frontier: Frontier, run: Run) -> Iterator[Frontier]:
    """The rows with each of their lists, in pieces."""
    frontier = _promising(search, step, frontier, run)
    lists = {
        listed_in(name, step.variable): empty(len(frontier), depth_in(name, step.variable))
        for name in step.names
    }
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
                piece = _folded(search, step, step.running, piece, count)
            # Lists take room: the longer they are, the fewer are made at once.
            most = max(1000, search.most_rows // (4 * (count + 1)))
            narrow = replace(search, most_rows=most, prunes=False)
            pending.append(run(narrow, step.next if count else step.first, piece))


def _promising(search: KernelSearch, step: RepeatStep[Value], frontier: Frontier, run: Run) -> Frontier:
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
    every = EventLists(events[np.argsort(row, kind="stable")], np.cumsum(counts) - counts, counts)
    # Not for users' functions: they are called for real lists only, and may change in any way with a list.
    own = (fold for fold in step.final if not fold.registered)
    totals = {fold.name: folded(fold, every, search.events) for fold in own}
    lookup = seen(replace(frontier, totals={**frontier.totals, **totals}))
    kept = np.ones(len(frontier), bool)
    for condition in step.early:
        kept &= holds(condition, lookup, search.events, len(frontier))
    return frontier.take(kept)


def _iterated(search: KernelSearch, step: RepeatStep[Value], frontier: Frontier, count: int) -> Frontier:
    """The rows after iteration number `count`: what it has bound is the last element, and the one before the
    next."""
    nothing = np.full(len(frontier), -1)
    own = (name for name in step.names if name.list == step.variable)
    bound = {name: frontier.variables.get(name, nothing) for name in own}
    frontier = _with_inner_lists(step, frontier)
    lists, variables = dict(frontier.lists), dict(frontier.variables)
    for name, numbers in bound.items():
        variables.pop(name, None)
        if name.events in lists:
            lists[name.events] = lists[name.events].appended(numbers, count - 1)
        variables[replace(name, lag=1)] = variables[name.at(-1)] = numbers
        if count == 1:
            variables[name.at(1)] = numbers
    if is_composite(step.names, step.variable):
        events = search.events
        this = Iterations(step.variable, step.names, lists, np.arange(len(frontier)), nothing + count)
        if count == 1:
            first = [*bound.values(), *this.ends(1)]
            variables[ElementName(step.variable, 1)] = outermost(first, events.first_moment, np.less)
        last = [*bound.values(), *this.ends(-1)]
        variables[ElementName(step.variable, -1)] = outermost(last, events.last_moment, np.greater)
        variables |= _seen_by_next(search, step, this)
    # The next iteration makes its own choices, and has other lists.
    made, folds = choices((*step.first, *step.next)), folds_inside((*step.first, *step.next))
    return replace(
        frontier,
        variables=variables,
        lists=lists,
        marks={mark: chosen for mark, chosen in frontier.marks.items() if mark not in made},
        choices={mark: choice for mark, choice in frontier.choices.items() if mark not in made},
        totals={name: total for name, total in frontier.totals.items() if name not in folds},
    )


def _with_inner_lists(step: RepeatStep[Value], frontier: Frontier) -> Frontier:
    """The rows with the lists of an iteration as the last elements of lists of lists."""
    pairs = inner_names(step.names, step.variable)
    if not pairs:
        return frontier
    lists = dict(frontier.lists)
    for inner, name in pairs:
        found = lists.pop(listed_in(name, inner), None) or none(len(frontier), depth_in(name, inner))
        whole = listed_in(name, step.variable)
        lists[whole] = lists[whole].with_group(found)
    gone = set(names_in_lists(tuple(frontier.variables), step.variable))
    variables = {name: numbers for name, numbers in frontier.variables.items() if name not in gone}
    return replace(frontier, variables=variables, lists=lists)


def _seen_by_next(
    search: KernelSearch, step: RepeatStep[Value], this: Iterations
) -> Iterator[tuple[EventName, Numbers]]:
    """The events in lists of the first iteration, and of the one before, that the next iteration looks at."""
    first = replace(this, number=np.zeros(len(this.row), np.int64), found={})
    for name in elements_seen(step.next, step.variable):
        iteration = iteration_of(name, step.variable)
        is_first = isinstance(iteration, ElementName) and iteration.place == 1
        yield name, (first if is_first else this).event(name, search.events)


@lru_cache(maxsize=1024)
def elements_seen(steps: tuple[KernelStep, ...], of: ListName) -> tuple[EventName, ...]:
    """The events in lists of other iterations of a list that an iteration looks at."""
    names = (name for step in steps for name in names_of_step(step, names_of_value))
    found = names_in_lists(tuple(dict.fromkeys(names)), of)
    return tuple(name for name in found if iteration_of(name, of) != IterationName(of, _inner(name, of)))


def _inner(name: EventName, of: ListName) -> str | None:
    iteration = iteration_of(name, of)
    return None if iteration is None else iteration.inner


@lru_cache(maxsize=1024)
def folds_inside(steps: tuple[KernelStep, ...]) -> frozenset[str]:
    """The folds of lists that steps bind."""
    return frozenset(fold.name for fold in folds(steps))


@lru_cache(maxsize=1024)
def choices(steps: tuple[KernelStep, ...]) -> frozenset[str]:
    """The marks of the choices that steps make."""
    return frozenset(step.mark for step in steps if isinstance(step, Choose))


def _complete(search: KernelSearch, step: RepeatStep[Value], frontier: Frontier, count: int) -> Frontier:
    """Rows whose list is complete."""
    before = {replace(name, lag=1) for name in step.names}
    folds = {fold.name for fold in step.running}
    kept = replace(
        frontier,
        variables={name: numbers for name, numbers in frontier.variables.items() if name not in before},
        totals={name: total for name, total in frontier.totals.items() if name not in folds},
    )
    named: dict[EventName, Numbers] = {
        name.at(place): frontier.lists[name.events].at_place(place)
        for name in step.names
        for place in step.places
        if name.list == step.variable and name.events in frontier.lists
    }
    named |= _named_inside(search, step, frontier, count)
    kept = replace(kept, variables={**kept.variables, **named})
    return _folded(search, step, step.final, kept, count)


def _named_inside(
    search: KernelSearch, step: RepeatStep[Value], frontier: Frontier, count: int
) -> dict[EventName, Numbers]:
    """The events in lists of iterations that later steps name."""
    found: dict[EventName, Numbers] = {}
    for name in step.elements:
        iteration = iteration_of(name, step.variable)
        assert isinstance(iteration, ElementName), "an iteration that has a place"
        found[name] = _iterations(step, frontier, iteration, count).event(name, search.events)
    return found


def _iterations(
    step: RepeatStep[Value], frontier: Frontier, iteration: ElementName | IterationName, count: int
) -> Iterations:
    """The iteration of each row that is meant, of lists with `count` of them."""
    number = np.full(len(frontier), number_of(iteration, count))
    return Iterations(step.variable, step.names, frontier.lists, np.arange(len(frontier)), number)


def _folded(
    search: KernelSearch, step: RepeatStep[Value], folds: tuple[Fold, ...], frontier: Frontier, count: int
) -> Frontier:
    if not folds:
        return frontier
    totals = dict(frontier.totals)
    for fold in folds:
        iteration = iteration_of(fold.list, step.variable)
        if iteration is None:
            lists = listed(frontier.lists, step.names, step.variable, fold.list)
        else:
            lists = _iterations(step, frontier, iteration, count).inner_list(fold.list)
        totals[fold.name] = folded(fold, lists, search.events)
    return replace(frontier, totals=totals)


def _count_up(search: KernelSearch, frontier: Frontier) -> None:
    search.tried[0] += len(frontier)
    if search.tried[0] > MOST_LISTS:
        number = search.tried[0]
        message = f"{number} lists were tried for the closures of the pattern, {MOST_LISTS} is the most"
        raise KernelError(MAX_LISTS, message, *place_of(frontier, search.events), number, MOST_LISTS)


# This many rows are worth a table of their own for each choice: steps then concern all of its rows or none.
MANY = 20_000


def run(search: KernelSearch, steps: tuple[KernelStep, ...], frontier: Frontier) -> Iterator[Frontier]:
    """The table after all steps, in pieces: each is brought to its end before the next is begun."""
    measures = search.measures if steps is search.program.steps else None
    # For each step that has begun, its pieces to come. No recursion: an OR may have hundreds of branches.
    pending: list[Iterator[Frontier]] = [iter((frontier,))]
    while pending:
        piece = next(pending[-1], None)
        place = len(pending) - 1
        if piece is None:
            pending.pop()
        elif len(piece):
            if place and search.prunes and ROW in piece.marks and not search.program.nested:
                piece = pruned(piece, steps[place - 1], steps[place:])
            if place == len(steps):
                yield piece
            else:
                pieces = after_step(search, steps[place], piece)
                pending.append(pieces if measures is None else measures.counted(place, len(piece), pieces))


def after_step(search: KernelSearch, step: KernelStep, frontier: Frontier) -> Iterator[Frontier]:
    """The table after one step, which may not concern all rows."""
    perform = STEPS[type(step)]
    which = concerned(frontier, step.when)
    if isinstance(which, bool):
        yield from perform(search, step, frontier) if which else (frontier,)
        return
    others = frontier.take(~which)
    # The others join the first piece: a step does not make more pieces than it must.
    for piece in perform(search, step, frontier.take(which)):
        yield both(piece, others)
        others = others.take(slice(0))
    yield others


def _choose(search: KernelSearch, step: Choose, frontier: Frontier) -> Iterator[Frontier]:
    if 1 < len(frontier) < MANY:
        choices = np.tile(np.arange(step.count), len(frontier))
        yield frontier.take(np.repeat(np.arange(len(frontier)), step.count)).marked(step.mark, choices)
    else:
        for choice in range(step.count):
            yield frontier.chosen(step.mark, choice)


def _rename(search: KernelSearch, step: Rename, frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.renamed(step.variable, step.new)


def _filter(search: KernelSearch, step: FilterStep[Value], frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.take(holds(step.condition, seen(frontier), search.events, len(frontier)))


def _any_bound(search: KernelSearch, step: AnyBound, frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.take(any_bound(frontier, step.variables))


def _absent(search: KernelSearch, step: Absent[Value], frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.take(~extended(search, step.steps, frontier, run))


def _present(search: KernelSearch, step: Present[Value], frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.take(extended(search, step.steps, frontier, run))


def _repeat(search: KernelSearch, step: RepeatStep[Value], frontier: Frontier) -> Iterator[Frontier]:
    return repeat(search, step, frontier, run)


def _weigh(search: KernelSearch, step: Weigh[Value], frontier: Frontier) -> Iterator[Frontier]:
    return weigh(search, step, frontier, run)


def _follow(search: KernelSearch, step: Follow[Value], frontier: Frontier) -> Iterator[Frontier]:
    return follow(search, step, frontier, run)


def _each_element(search: KernelSearch, step: EachElement[Value], frontier: Frontier) -> Iterator[Frontier]:
    return each_element(search, step, frontier, run)


STEPS: dict[type, Callable[[KernelSearch, Any, Frontier], Iterator[Frontier]]] = {
    Choose: _choose,
    Take: take,
    Rename: _rename,
    FilterStep: _filter,
    AnyBound: _any_bound,
    Absent: _absent,
    Present: _present,
    RepeatStep: _repeat,
    EachElement: _each_element,
    Follow: _follow,
    Likely: likely,
    Weigh: _weigh,
}
