"""Likely and Weigh: partial matches whose times are imprecise, as lists of events with a probability.

Here events are relaxed (`relaxed.py`): they start when they are at the latest, and end when they are at the
earliest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from neelc.runtime.kernels.confidence import confidences, reaches
from neelc.runtime.kernels.confidence_absent import Absent
from neelc.runtime.kernels.confidence_bounds import can_reach, quick_bounds
from neelc.runtime.kernels.confidence_ranges import Sequences, Times, by_length, is_possible, ranges
from neelc.runtime.kernels.events import Events, Numbers, Truths, Values
from neelc.runtime.kernels.frontier import Frontier, concerned
from neelc.runtime.kernels.players import Search
from neelc.runtime.kernels.taking import ROW
from neelc.runtime.program import Step
from neelc.runtime.weighing import CONFIDENCE, Likely, Negation, Weigh

Run = Callable[[Search, tuple[Step, ...], Frontier], Iterator[Frontier]]

ROWS = 50_000
"""So many rows are weighed at once: each may have many events that spoil it."""


@dataclass(frozen=True, eq=False)
class Bound:
    """The events that rows have, in the order of time, and how many each row has of the first n names."""

    sequences: Sequences
    counts: Numbers

    @property
    def row(self) -> Numbers:
        """The row of each event."""
        return np.repeat(np.arange(len(self.sequences)), np.diff(self.sequences.first))


def times_of(events: Events) -> Times:
    """When relaxed events may be."""
    return Times(events.end, events.start)


def bound(frontier: Frontier, names: tuple[str, ...]) -> Bound:
    """
    >>> from neelc.runtime.kernels.lists import Lists
    >>> lists = {"b": Lists(np.array([5, 6]), np.array([0, 0]), np.array([0, 2]))}
    >>> table = Frontier({"a": np.array([3, 4]), "c": np.array([-1, 7])}, {}, np.zeros(2), lists=lists)
    >>> found = bound(table, ("a", "b", "c"))
    >>> found.sequences.events.tolist(), found.sequences.first.tolist(), found.counts.tolist()
    ([3, 4, 5, 6, 7], [0, 1, 5], [[0, 1, 1, 1], [0, 1, 3, 4]])
    """
    rows, events = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    counts = np.zeros((len(frontier), len(names) + 1), np.int64)
    for place, name in enumerate(names, 1):
        if name in frontier.lists:
            row, at = frontier.lists[name].row_and_place()
            event = frontier.lists[name].pool[at]
        else:
            column = frontier.variables.get(name, np.full(len(frontier), -1))
            row = np.flatnonzero(column >= 0)
            event = column[row]
        rows.append(row)
        events.append(event)
        counts[:, place] = np.bincount(row, minlength=len(frontier))
    # Stable: the events of a row stay in the order of the names, those of a list in its own.
    order = np.argsort(np.concatenate(rows), kind="stable")
    counts = np.cumsum(counts, axis=1)
    first = np.concatenate(([0], np.cumsum(counts[:, -1])))
    return Bound(Sequences(np.concatenate(events)[order], first), counts)


def likely(search: Search, step: Likely, frontier: Frontier) -> Iterator[Frontier]:
    """The rows that may become matches."""
    found = bound(frontier, step.events)
    kept = np.flatnonzero(are_different(found))
    kept = kept[_are_possible(search.events, found.sequences.take(kept), step.width)]
    if step.least > 0:
        kept = kept[_can_reach(search.events, found.sequences.take(kept), step)]
    yield frontier if len(kept) == len(frontier) else frontier.take(kept)


def _can_reach(events: Events, sequences: Sequences, step: Likely) -> Truths:
    times = times_of(events)
    if int(np.diff(sequences.first).max(initial=0)) <= 2:
        # Of two events the bound is the confidence.
        return reaches(quick_bounds(times, sequences, step.width), step.least)
    return can_reach(times, sequences, step.least, step.width)


def are_different(found: Bound) -> Truths:
    """The rows that have no event twice: one at several instants can be before itself, in relaxed times."""
    row, events = found.row, found.sequences.events
    order = np.lexsort((events, row))
    again = (row[order][1:] == row[order][:-1]) & (events[order][1:] == events[order][:-1])
    result = np.ones(len(found.sequences), bool)
    result[row[order][1:][again]] = False
    return result


def _are_possible(events: Events, sequences: Sequences, width: int | None) -> Truths:
    """The lists that are in order and fit into the window in some world."""
    result = np.ones(len(sequences), bool)
    for rows, table in by_length(sequences):
        result[rows] = is_possible(ranges(times_of(events), table, width), width)
    return result


def weigh(search: Search, step: Weigh, frontier: Frontier, run: Run) -> Iterator[Frontier]:
    """The rows with their confidence."""
    for begin in range(0, len(frontier), ROWS):
        rows = frontier.take(slice(begin, begin + ROWS))
        found = bound(rows, step.events)
        if search.is_cut:
            rows = rows.take(_owned(search.events, found, rows.segment))
            found = bound(rows, step.events)
        spoilers = _spoilers(search, step.negations, rows, found, run)
        chances = confidences(times_of(search.events), found.sequences, step.width, spoilers)
        kept = (chances > 0) & reaches(chances, step.least, step.strictly)
        weighed = replace(rows, totals={**rows.totals, CONFIDENCE: Values(chances)})
        yield weighed.take(kept)


def _owned(events: Events, found: Bound, segment: Numbers) -> Truths:
    """Matches belong to where the first of the latest times of their events is."""
    least = np.full(len(segment), np.iinfo(np.int64).max)
    np.minimum.at(least, found.row, events.start[found.sequences.events])
    low, high = (limit[segment] for limit in events.owned)
    return np.asarray((least >= low) & (least < high))


def _spoilers(
    search: Search, negations: tuple[Negation, ...], rows: Frontier, found: Bound, run: Run
) -> Absent | None:
    """The events that may spoil rows, with the gap in which they do."""
    if not negations:
        return None
    looking = replace(search.unowned(), prunes=False)
    marked = rows.marked(ROW, np.arange(len(rows)))
    parts = [(np.zeros(0, np.int64),) * 3]
    for negation in negations:
        which = concerned(marked, negation.when)
        asked = marked.take(which) if not isinstance(which, bool) else marked if which else None
        if asked is not None and len(asked):
            for piece in run(looking, negation.steps, asked):
                row = piece.marks[ROW]
                parts.append((row, found.counts[row, negation.place], piece.variables[negation.variable]))
    return Absent(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
