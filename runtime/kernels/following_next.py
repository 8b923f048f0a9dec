"""Which events runs take next: those that qualify at the next instant at which one does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neelc.runtime.kernels.events import Numbers
from neelc.runtime.kernels.following_moves import Option, Pairs
from neelc.runtime.kernels.timeline import FAR

FIRST_TRIED = 1
"""How many candidates of a run are tried at first."""


def next_pairs(options: Sequence[Option], rows: int, contiguous: bool) -> list[Pairs]:
    """For each of the options of as many runs, the pairs of a run and an event that it takes."""
    return [all_pairs(one) for one in options] if contiguous else _at_the_next_instant(options, rows)


def all_pairs(option: Option) -> Pairs:
    left, right = option.these.left, option.these.right
    return option.fitting(*spread(np.arange(len(left)), left, right))


def spread(row: Numbers, left: Numbers, right: Numbers) -> Pairs:
    """Each row with each place from `left` to before `right`.

    >>> [found.tolist() for found in spread(np.array([5, 6]), np.array([0, 7]), np.array([1, 9]))]
    [[5, 6, 6], [0, 7, 8]]
    """
    counts = right - left
    beyond = np.cumsum(counts)
    total = int(beyond[-1]) if len(beyond) else 0
    return np.repeat(row, counts), np.arange(total) + np.repeat(left - beyond + counts, counts)


def _at_the_next_instant(options: Sequence[Option], rows: int) -> list[Pairs]:
    best = np.full(rows, FAR)
    found: list[Numbers] = [np.zeros(0, np.int64)] * len(options)
    # What costs nothing comes first: the others need not look further than it.
    for number in sorted(range(len(options)), key=lambda number: not options[number].is_exact):
        one = options[number]
        limit = best if one.rows is None else best[one.rows]
        found[number] = _first(one, limit)
        limit = np.minimum(limit, _starts(one, found[number]))
        if one.rows is None:
            best = limit
        else:
            best[one.rows] = limit
    return [
        _with_ties(one, places, best if one.rows is None else best[one.rows])
        for one, places in zip(options, found, strict=True)
    ]


def _starts(option: Option, places: Numbers) -> Numbers:
    start = option.these.players.start
    return np.where(places >= 0, start[places], FAR) if len(start) else np.full(len(places), FAR)


def _first(option: Option, limit: Numbers) -> Numbers:
    """For each run the place of the first player that qualifies and starts by `limit`; -1: none."""
    these = option.these
    left, right, start = these.left.copy(), these.right, these.players.start
    best = np.full(len(left), -1)
    limit = np.minimum(limit, these.time.end)
    rows = np.flatnonzero(left < right)
    tried = FIRST_TRIED
    while len(rows):
        first = these.places(left[rows])
        near = start[first] <= limit[rows]
        rows, first = rows[near], first[near]
        if option.is_exact:
            best[rows] = first
            break
        tried = max(1, min(tried, these.search.most_rows // max(1, len(rows))))
        ends = np.minimum(left[rows] + tried, right[rows])
        if tried == 1:
            row, place = option.fitting(rows, first)
        else:
            row, number = spread(rows, left[rows], ends)
            place = these.places(number)
            near = start[place] <= limit[row]
            row, place = option.fitting(row[near], place[near])
        # In reverse: the first of each row is written last.
        best[row[::-1]] = place[::-1]
        left[rows] = ends
        rows = rows[(ends < right[rows]) & (best[rows] < 0)]
        tried *= 2
    return best


def _with_ties(option: Option, places: Numbers, best: Numbers) -> Pairs:
    """The runs whose first player is at the best instant, and all others that qualify at that instant."""
    start = option.these.players.start
    row = np.flatnonzero(places >= 0)
    place = places[row]
    at_best = start[place] == best[row]
    row, place = row[at_best], place[at_best]
    following = np.minimum(place + 1, len(start) - 1)
    tied = np.flatnonzero((following > place) & (start[following] == start[place]))
    if not len(tied):
        return row, place
    beyond = np.searchsorted(start, start[place[tied]], "right")
    others = option.fitting(*spread(row[tied], following[tied], beyond))
    return np.concatenate((row, others[0])), np.concatenate((place, others[1]))
