"""Steps, one after the other, on tables of partial matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from neelc.runtime.kernels.elements import each_element
from neelc.runtime.kernels.existence import extended, pruned
from neelc.runtime.kernels.following import follow
from neelc.runtime.kernels.frontier import Frontier, any_bound, both, concerned
from neelc.runtime.kernels.operations import holds, seen
from neelc.runtime.kernels.players import Search
from neelc.runtime.kernels.repeating import repeat
from neelc.runtime.kernels.taking import ROW, take
from neelc.runtime.kernels.weighing import likely, weigh
from neelc.runtime.program import (
    Absent,
    AnyBound,
    Choose,
    EachElement,
    Filter,
    Follow,
    Present,
    Rename,
    Repeat,
    Step,
    Take,
)
from neelc.runtime.weighing import Likely, Weigh

# So many rows are worth a table of their own for each choice: steps then concern all of its rows or none.
MANY = 20_000


def run(search: Search, steps: tuple[Step, ...], frontier: Frontier) -> Iterator[Frontier]:
    """The table after all steps, in pieces: each is brought to its end before the next is begun."""
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
                pending.append(_after(search, steps[place], piece))


def _after(search: Search, step: Step, frontier: Frontier) -> Iterator[Frontier]:
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


def _choose(search: Search, step: Choose, frontier: Frontier) -> Iterator[Frontier]:
    if 1 < len(frontier) < MANY:
        choices = np.tile(np.arange(step.count), len(frontier))
        yield frontier.take(np.repeat(np.arange(len(frontier)), step.count)).marked(step.mark, choices)
    else:
        for choice in range(step.count):
            yield frontier.chosen(step.mark, choice)


def _rename(search: Search, step: Rename, frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.renamed(step.variable, step.new)


def _filter(search: Search, step: Filter, frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.take(holds(step.condition, seen(frontier), search.events, len(frontier)))


def _any_bound(search: Search, step: AnyBound, frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.take(any_bound(frontier, step.variables))


def _absent(search: Search, step: Absent, frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.take(~extended(search, step.steps, frontier, run))


def _present(search: Search, step: Present, frontier: Frontier) -> Iterator[Frontier]:
    yield frontier.take(extended(search, step.steps, frontier, run))


def _repeat(search: Search, step: Repeat, frontier: Frontier) -> Iterator[Frontier]:
    return repeat(search, step, frontier, run)


def _weigh(search: Search, step: Weigh, frontier: Frontier) -> Iterator[Frontier]:
    return weigh(search, step, frontier, run)


def _follow(search: Search, step: Follow, frontier: Frontier) -> Iterator[Frontier]:
    return follow(search, step, frontier, run)


def _each_element(search: Search, step: EachElement, frontier: Frontier) -> Iterator[Frontier]:
    return each_element(search, step, frontier, run)


STEPS: dict[type, Callable[[Search, Any, Frontier], Iterator[Frontier]]] = {
    Choose: _choose,
    Take: take,
    Rename: _rename,
    Filter: _filter,
    AnyBound: _any_bound,
    Absent: _absent,
    Present: _present,
    Repeat: _repeat,
    EachElement: _each_element,
    Follow: _follow,
    Likely: likely,
    Weigh: _weigh,
}
