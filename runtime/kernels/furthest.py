"""Of each start, the match that comes furthest: WITH PARTIAL MATCHES."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from neelc.runtime.kernels.collapsing import Piece, length, united_columns
from neelc.runtime.kernels.events import Events, Numbers
from neelc.runtime.kernels.lists import Lists
from neelc.runtime.kernels.preferring import Leaf, leaves_of, preferred
from neelc.runtime.levels import Furthest
from neelc.runtime.program import Program

# When so many rows have come they are made fewer, again and again.
MANY = 200_000


def furthest(pieces: Iterable[Piece], program: Program, asked: Furthest, events: Events) -> Iterator[Piece]:
    """All matches that are kept, in one piece."""
    leaves = leaves_of(program.outputs, asked)
    kept: list[Piece] = []
    rows, done = 0, 0
    for piece in pieces:
        kept.append(piece)
        rows += length(piece)
        if rows > max(MANY, 2 * done):
            kept = [_best(_united(kept), asked, leaves, events)]
            rows = done = length(kept[0])
    if kept:
        best = _best(_united(kept), asked, leaves, events)
        yield _of_each_start(best, asked)


def _united(pieces: Sequence[Piece]) -> Piece:
    return {name: united_columns([piece[name] for piece in pieces]) for name in pieces[0]}


def _taken(piece: Piece, rows: Numbers) -> dict[str, Numbers | Lists]:
    return {
        name: column.take(rows) if isinstance(column, Lists) else column[rows]
        for name, column in piece.items()
    }


def _branch_and_start(piece: Piece, asked: Furthest) -> tuple[Numbers, Numbers]:
    """Of each match the branch that it is of, and its first event: no other branch has one."""
    branch = np.full(length(piece), -1)
    start = np.full(length(piece), -1)
    for number, name in enumerate(asked.starts):
        column = piece.get(name)  # rewriting drops branches that have no match
        if column is not None and not isinstance(column, Lists):
            branch[column >= 0] = number
            start = np.maximum(start, column)
    return branch, start


def _best(piece: Piece, asked: Furthest, leaves: Sequence[Leaf], events: Events) -> Piece:
    """Of each start, one match of each branch."""
    branch, start = _branch_and_start(piece, asked)
    group = start * len(asked.starts) + branch
    return _taken(piece, preferred(group, piece, leaves, events))


def _of_each_start(piece: Piece, asked: Furthest) -> Piece:
    """Of each start the match of its last level, with what tells why it is the last."""
    branch, start = _branch_and_start(piece, asked)
    known, like = np.unique(start, return_inverse=True)
    rows = np.full((len(known), len(asked.starts)), -1)
    rows[like, branch] = np.arange(len(branch))
    place = {name: number for number, name in enumerate(asked.starts)}
    chosen = np.full(len(known), -1)
    hints = {name: np.zeros(len(known), bool) for name in asked.starts}
    for level in reversed(asked.levels):
        of_level = rows[:, place[level.start]]
        new = (chosen < 0) & (of_level >= 0)
        chosen[new] = of_level[new]
        for hint in level.hints:
            hints[hint] = new & (rows[:, place[hint]] >= 0)
            new = new & ~hints[hint]
    started = chosen >= 0
    found = _taken(piece, chosen[started])
    for name, told in hints.items():
        column = found.get(name)
        if column is not None and not isinstance(column, Lists):
            found[name] = np.where(told[started], known[started], column)
    return found
