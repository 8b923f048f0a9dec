"""Matches with the same single events as one, with the events of all their lists, SASE++'s format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import numpy as np

from neelc.runtime.kernels.distinct import distinct
from neelc.runtime.kernels.events import Events, Numbers
from neelc.runtime.kernels.lists import Lists, joined

Piece = Mapping[str, Numbers | Lists]

# When so many rows have come they are made one, again and again.
MANY = 200_000


def collapsed(pieces: Iterable[Piece], events: Events) -> Piece:
    """All matches, in one piece."""
    kept: list[Piece] = []
    rows, done = 0, 0
    for piece in pieces:
        kept.append(piece)
        rows += length(piece)
        if rows > max(MANY, 2 * done):
            kept = [_united(kept, events)]
            rows = done = length(kept[0])
    return _united(kept, events) if kept else {}


def length(piece: Piece) -> int:
    return min(map(len, piece.values()), default=0)


def united_columns(columns: Sequence[Numbers | Lists]) -> Numbers | Lists:
    """Columns of the same kind, one after the other."""
    lists = [column for column in columns if isinstance(column, Lists)]
    if lists:
        return reduce(lambda one, other: joined(one, len(one), other, len(other)), lists)
    return np.concatenate([column for column in columns if not isinstance(column, Lists)])


def _united(pieces: list[Piece], events: Events) -> Piece:
    whole = {name: united_columns([piece[name] for piece in pieces]) for name in pieces[0]}
    # Of a list only whether there is one is part of a choice.
    keys = [column.length < 0 if isinstance(column, Lists) else column for column in whole.values()]
    rows, like = distinct([key.astype(np.int64) for key in keys])
    return {
        name: union(column, like, len(rows), events) if isinstance(column, Lists) else column[rows]
        for name, column in whole.items()
    }


def union(lists: Lists, like: Numbers, groups: int, events: Events) -> Lists:
    """For each group of rows the events of all its lists, in the order of time."""
    row, place = lists.row_and_place()
    group, event = like[row], lists.pool[place]
    first, _ = distinct([group, event])
    group, event = group[first], event[first]
    order = np.lexsort((event, events.end[event], events.start[event], group))
    counts = np.bincount(group, minlength=groups).astype(np.int64)
    absent = np.zeros(groups, bool)
    absent[like[lists.length < 0]] = True
    return Lists(event[order], np.cumsum(counts) - counts, np.where(absent, -1, counts))
