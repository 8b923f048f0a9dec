"""Imprecise events as kernels search them, and the matches with their confidence.

An event that is at one of lo..hi starts at hi here, and ends at lo. Then "one ends before the other starts"
is "one can be before the other", and "they start and end within a window" is "they can be within it": what a
step binds an event to is a superset of what is right in any world, and `Likely` and `Weigh` do the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from neelc.runtime.kernels.collapsing import Piece
from neelc.runtime.kernels.confidence_ranges import Chances
from neelc.runtime.kernels.events import Events, Numbers, Values
from neelc.runtime.kernels.frontier import root
from neelc.runtime.kernels.lists import Lists
from neelc.runtime.kernels.matching import columns_of
from neelc.runtime.kernels.operations import check
from neelc.runtime.kernels.players import Search
from neelc.runtime.kernels.running import run
from neelc.runtime.kernels.timeline import groups
from neelc.runtime.program import Program
from neelc.runtime.weighing import CONFIDENCE


def weighed_matches(
    program: Program, events: Events, most_rows: int = 2_000_000
) -> Iterator[tuple[Piece, Chances]]:
    """The matches in pieces, each with its confidence. `events` start at their earliest time and end at their
    latest; a match belongs to the range in which the first of the latest times of its events is."""
    check(program)
    relaxed_events, order = relaxed(events)
    for begin, group, line in groups(relaxed_events):
        search = Search(program, group, line, most_rows)
        numbers = order[begin : begin + len(group.start)]
        for frontier in run(search, program.steps, root()):
            piece = dict(columns_of(program.outputs, frontier))
            confidence = np.asarray(frontier.totals[CONFIDENCE].values, np.float64)
            yield {name: _moved(column, numbers) for name, column in piece.items()}, confidence


def _moved(column: Numbers | Lists, numbers: Numbers) -> Numbers | Lists:
    """With the numbers that the events had before."""
    if isinstance(column, Lists):
        return replace(column, pool=numbers[column.pool])
    return np.where(column < 0, column, numbers[column])


def relaxed(events: Events) -> tuple[Events, Numbers]:
    """The events by their latest time, with the number that each had.

    >>> at = np.array([1, 2, 3])
    >>> given = Events(at, np.array([9, 4, 3]), at * 0, {"A": np.array([0, 2])}, {}, (at[:1], at[:1]))
    >>> found, order = relaxed(given)
    >>> found.start.tolist(), found.end.tolist(), order.tolist(), found.roles["A"].tolist()
    ([3, 4, 9], [3, 2, 1], [2, 1, 0], [0, 2])
    """
    order = np.lexsort((events.end, events.segment))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))

    def ordered(column: Values) -> Values:
        return Values(column.values[order], None if column.valid is None else column.valid[order])

    changed = replace(
        events,
        start=events.end[order],
        end=events.start[order],
        segment=events.segment[order],
        roles={role: np.sort(place[numbers]) for role, numbers in events.roles.items()},
        columns={name: ordered(column) for name, column in events.columns.items()},
    )
    return changed, order
