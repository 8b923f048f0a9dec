"""The latest start with which a state can be reached at each instant.

It tells whether a partial match can be completed inside the window, so no way is ever followed in vain: of
all that lead to a state, the one that started last reaches furthest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neelc.runtime.sequential.timeline import Bools, Ints

Edge = tuple[int | None, int, int]
"""State, symbol, next state; from None a way starts."""

NONE = -1


def latest_starts(edges: Sequence[Edge], states: int, first: Bools, is_emitted: Sequence[Bools]) -> Ints:
    """For each state and instant: the latest instant at which a way into the state can have started that
    takes this instant last, NONE if there is no such way. Ways do not cross the `first` instant of a key.

    >>> every, second = np.array([True] * 3), np.array([False, True, False])
    >>> first = np.array([True, False, False])
    >>> latest_starts([(None, 1, 0), (0, 0, 0)], 1, first, [every, second]).tolist()
    [[-1, 1, 1]]
    """
    size = len(first)
    found = np.full((states, size), NONE, dtype=np.int64)
    for component in _components(edges, states):
        entering = [edge for edge in edges if edge[2] in component and edge[0] not in component]
        inner = [edge for edge in edges if edge[2] in component and edge[0] in component]
        for source, symbol, target in entering:
            start = np.arange(size) if source is None else _before(found[source], first)
            np.maximum(found[target], np.where(is_emitted[symbol], start, NONE), out=found[target])
        if len(component) == 1 and inner:
            state = component[0]
            goes_on = np.logical_or.reduce([is_emitted[symbol] for _, symbol, _ in inner]) & ~first
            found[state] = _running_latest(found[state], goes_on)
        elif inner:
            _step_by_step(found, component, inner, first, is_emitted)
    return found


def _before(values: Ints, first: Bools) -> Ints:
    """The value of the instant before, in the same key."""
    shifted = np.concatenate([[NONE], values[:-1]])[: len(values)]
    return np.where(first, NONE, shifted)


def _running_latest(values: Ints, goes_on: Bools) -> Ints:
    """The greatest value since the last instant that does not go on."""
    width = len(values) + 2
    offset = np.cumsum(~goes_on) * width
    return np.maximum.accumulate(values + 1 + offset) - 1 - offset if len(values) else values


def _step_by_step(
    found: Ints, component: list[int], inner: list[Edge], first: Bools, is_emitted: Sequence[Bools]
) -> None:
    """States that lead to each other: closures of groups."""
    columns = {state: found[state].tolist() for state in component}
    edges = [
        (columns[source], is_emitted[symbol].tolist(), columns[to]) for source, symbol, to in _known(inner)
    ]
    for instant in np.flatnonzero(~first).tolist():
        for source, emitted, target in edges:
            if emitted[instant] and source[instant - 1] > target[instant]:
                target[instant] = source[instant - 1]
    for state, values in columns.items():
        found[state] = values


def _known(edges: Sequence[Edge]) -> list[tuple[int, int, int]]:
    return [(source, symbol, to) for source, symbol, to in edges if source is not None]


def _components(edges: Sequence[Edge], states: int) -> list[list[int]]:
    """States that lead to each other together, those that lead to others before these."""
    reached = [1 << state for state in range(states)]
    pairs = sorted({(source, to) for source, _, to in _known(edges) if source != to}, reverse=True)
    changed = True
    while changed:
        changed = False
        for source, to in pairs:
            more = reached[source] | reached[to]
            changed |= more != reached[source]
            reached[source] = more
    groups: dict[int, list[int]] = {}
    for state in range(states):
        groups.setdefault(reached[state], []).append(state)
    return [groups[mask] for mask in sorted(groups, key=lambda mask: -mask.bit_count())]
