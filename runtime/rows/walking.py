"""Matches where no condition depends on the path: at each row the preferred choice that can be completed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neelc.runtime.rows.program import ACCEPT, Choices
from neelc.runtime.rows.viability import Ints, Viability

NONE = -2
"""No choice can be completed."""


@dataclass(frozen=True)
class Matches:
    """Matches, one after the other: each takes `length` rows from `start` on, none if it is empty. `places`
    are those of all their rows, `number` the number of each in its partition."""

    start: Ints
    length: Ints
    places: Ints
    number: Ints


NextStart = Callable[[int, list[int]], int]
"""The row at which the next match may start, after one from a row with these places."""


def walk(viability: Viability, states: Ints, heads: Ints, next_start: NextStart) -> Matches:
    """The matches of all partitions."""
    machine, sets = viability.machine, viability.sets
    after = [[-3] * len(sets) for _ in machine.after]
    begin = np.array([_choice(machine.start, places) for places in sets])
    begin_first = np.array([_choice(machine.first, places) for places in sets])
    begins = begin[states]
    begins[heads] = begin_first[states[heads]]
    candidates = np.flatnonzero(begins != NONE)
    tails = np.append(heads[1:], len(states)).tolist()
    known = states.tolist()
    start: list[int] = []
    length: list[int] = []
    found: list[int] = []
    number: list[int] = []
    segment, tail, beyond, count = -1, 0, 0, 0
    for row, place in zip(candidates.tolist(), begins[candidates].tolist(), strict=True):
        if row >= tail:
            while row >= tail:
                segment += 1
                tail = tails[segment]
            beyond, count = row, 0
        if row < beyond:
            continue
        count += 1
        first, at = len(found), row
        while place != ACCEPT:
            found.append(place)
            at += 1
            if at == tail:
                break
            state = known[at]
            choice = after[place][state]
            if choice == -3:
                choice = after[place][state] = _choice(machine.after[place], sets[state])
            place = choice
        start.append(row)
        length.append(at - row)
        number.append(count)
        beyond = at if at > row else row + 1
        if next_start is not past_last_row and at > row:
            beyond = next_start(row, found[first:])
    return Matches(*(np.array(values, dtype=np.int64) for values in (start, length, found, number)))


def _choice(choices: Choices, viable: int) -> int:
    """The preferred choice that can be completed."""
    for choice in choices:
        if choice == ACCEPT or viable >> choice & 1:
            return choice
    return NONE


def past_last_row(row: int, places: list[int]) -> int:
    return row + len(places)
