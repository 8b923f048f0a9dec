"""The matches of a program among events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from neelc.runtime.kernels.distinct import distinct
from neelc.runtime.kernels.errors import KernelError
from neelc.runtime.kernels.events import Events, Numbers, Truths
from neelc.runtime.kernels.frontier import Frontier, any_bound, root
from neelc.runtime.kernels.operations import check
from neelc.runtime.kernels.players import Search
from neelc.runtime.kernels.running import run
from neelc.runtime.kernels.timeline import groups
from neelc.runtime.program import Program

Piece = Mapping[str, Numbers]


def matches(
    program: Program, events: Events, most_rows: int = 2_000_000, most_matches: int | None = None
) -> Iterator[Piece]:
    """The matches in pieces: the event of each output variable, -1 where it is absent.

    About `most_rows` partial matches are held at once, or the candidates of one. More than `most_matches`
    matches are an error.
    """
    check(program)
    return _limited(_matches(program, events, most_rows), events, most_matches)


def _matches(program: Program, events: Events, most_rows: int) -> Iterator[Piece]:
    for begin, group, line in groups(events):
        search = Search(program, group, line, most_rows)
        pieces = _owned_pieces(search)
        for piece in _each_once(pieces, most_rows) if program.unique else pieces:
            yield {name: np.where(n < 0, n, n + begin) for name, n in piece.items()} if begin else piece


def _owned_pieces(search: Search) -> Iterator[Piece]:
    variables = dict.fromkeys(output.variable for output in search.program.outputs)
    for frontier in run(search, search.program.steps, root()):
        owned = _owned(search, frontier.only(variables))
        rows = frontier if owned.all() else frontier.take(owned)
        if len(rows):
            absent = np.full(len(rows), -1)
            yield {variable: rows.variables.get(variable, absent) for variable in variables}


def _owned(search: Search, frontier: Frontier) -> Truths:
    """Matches that have an event, and start in the owned range."""
    bound = any_bound(frontier, frontier.variables)
    if not search.is_cut:
        return bound
    least = np.full(len(frontier), np.iinfo(np.int64).max)
    for numbers in frontier.variables.values():
        start = search.events.start[numbers]
        least = np.where(numbers < 0, least, np.minimum(least, start))
    low, high = (limit[frontier.segment] for limit in search.events.owned)
    return bound & (least >= low) & (least < high)


def _each_once(pieces: Iterator[Piece], most_rows: int) -> Iterator[Piece]:
    """All matches, without duplicates, in one piece."""
    kept: Piece = {}
    pending: list[Piece] = []
    for piece in pieces:
        pending.append(piece)
        if sum(map(_length, pending)) > max(most_rows, _length(kept)):
            kept, pending = _united([kept, *pending]), []
    united = _united([kept, *pending])
    if _length(united):
        yield united


def _united(pieces: list[Piece]) -> Piece:
    pieces = [piece for piece in pieces if _length(piece)]
    if not pieces:
        return {}
    whole = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    rows, _ = distinct(list(whole.values()))
    return {name: numbers[rows] for name, numbers in whole.items()}


def _length(piece: Piece) -> int:
    return len(next(iter(piece.values()))) if piece else 0


def _limited(pieces: Iterator[Piece], events: Events, most: int | None) -> Iterator[Piece]:
    total = 0
    for piece in pieces:
        total += _length(piece)
        if most is not None and total > most:
            one = max(int(numbers[most - total]) for numbers in piece.values())
            segment = int(events.segment[one])
            message = f"more than {most} matches: {total} were found so far"
            raise KernelError("MAX_MATCHES", message, segment)
        yield piece
