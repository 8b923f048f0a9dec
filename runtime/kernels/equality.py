"""Candidates that must have a value in common with an event of the row: found by it, not tried one by one.

Players are sorted by the value and then by their place. In that order the players of a range that have one
value are a range again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neelc.runtime.kernels.events import Events, Numbers
from neelc.runtime.kernels.frontier import Frontier
from neelc.runtime.kernels.logic import Array, equal
from neelc.runtime.kernels.players import Players
from neelc.runtime.program import Apply, Column, Take

# With fewer pairs than this, or fewer than a few for each event, sorting does not pay.
LEAST_PAIRS = 100_000
LEAST_SHARE = 8


@dataclass(frozen=True, eq=False)
class Index:
    """The different values; the places of players by value; values and places as ascending numbers."""

    values: Array
    order: Numbers
    keys: Numbers


def index_of(values: Array) -> Index:
    """
    >>> import numpy as np
    >>> index = index_of(np.array([7, 5, 7, 5]))
    >>> index.values.tolist(), index.order.tolist(), index.keys.tolist()
    ([5, 7], [1, 3, 0, 2], [1, 3, 4, 6])
    """
    different, codes = np.unique(values, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return Index(different, order, codes[order] * len(values) + order)


def equation(step: Take, frontier: Frontier, events: Events) -> tuple[Column, Column] | None:
    """A column of the event to be bound, and one of a bound event that it must be equal to, if there is such.

    Not if the bound event is absent in some rows: to agree with it asks nothing.
    """
    for condition in step.where:
        match condition:
            case Apply("=" | "agrees", (Column() as one, Column() as other)):
                own, bound = (one, other) if one.variable == step.variable else (other, one)
                kinds = {events.columns[side.name].values.dtype.kind for side in (own, bound)}
                if own.variable == step.variable and len(kinds) == 1 and _is_bound(bound, frontier):
                    return own, bound
    return None


def _is_bound(column: Column, frontier: Frontier) -> bool:
    numbers = frontier.variables.get(column.variable)
    return numbers is not None and bool((numbers >= 0).all())


def narrowed(
    step: Take, frontier: Frontier, events: Events, players: Players, left: Numbers, right: Numbers
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
    assert isinstance(index, Index)
    values = events.columns[bound.name].values[frontier.variables[bound.variable]]
    code = np.minimum(np.searchsorted(index.values, values), len(index.values) - 1)
    base = code * len(index.order)
    begin = np.searchsorted(index.keys, base + left)
    end = np.searchsorted(index.keys, base + right)
    return index.order, begin, np.where(equal(index.values[code], values), end, begin)
