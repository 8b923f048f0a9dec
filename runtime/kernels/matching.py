"""The matches of a program among events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neelc.runtime.kernels.collapsing import Piece, collapsed, length, united_columns
from neelc.runtime.kernels.distinct import distinct
from neelc.runtime.kernels.errors import KernelError
from neelc.runtime.kernels.events import Events, Numbers, Truths
from neelc.runtime.kernels.frontier import Frontier, any_bound, root
from neelc.runtime.kernels.furthest import furthest
from neelc.runtime.kernels.lists import Lists, none
from neelc.runtime.kernels.operations import check
from neelc.runtime.kernels.players import Search
from neelc.runtime.kernels.running import run
from neelc.runtime.kernels.timeline import groups
from neelc.runtime.program import Output, Program


def matches(
    program: Program, events: Events, most_rows: int = 2_000_000, most_matches: int | None = None
) -> Iterator[Piece]:
    """The matches in pieces: the event of each output variable, -1 where it is absent.

    About `most_rows` partial matches are held at once, or the candidates of one. More than `most_matches`
    matches are an error.
    """
    check(program)
    found = _matches(program, events, most_rows)
    if program.furthest is not None:
        found = furthest(found, program, program.furthest, events)
    return _limited(found, events, most_matches)


def _matches(program: Program, events: Events, most_rows: int) -> Iterator[Piece]:
    for begin, group, line in groups(events):
        search = Search(program, group, line, most_rows)
        pieces = _owned_pieces(search)
        if program.collapsed:
            whole = collapsed(pieces, group)
            pieces = iter([whole] if whole else [])
        elif program.unique and program.furthest is None:
            pieces = _each_once(pieces, most_rows)
        for piece in pieces:
            yield {name: _moved(column, begin) for name, column in piece.items()} if begin else piece


def _moved(column: Numbers | Lists, begin: int) -> Numbers | Lists:
    return (
        column.shifted(begin) if isinstance(column, Lists) else np.where(column < 0, column, column + begin)
    )


def _owned_pieces(search: Search) -> Iterator[Piece]:
    outputs = search.program.outputs
    # The first event of a list stands for it: none of the others is earlier.
    members = {f"{output.variable}[1]" if output.listed else output.variable for output in outputs}
    for frontier in run(search, search.program.steps, root()):
        owned = _owned(search, frontier.only(members))
        rows = frontier if owned.all() else frontier.take(owned)
        if len(rows):
            yield dict(columns_of(outputs, rows))


def columns_of(outputs: tuple[Output, ...], rows: Frontier) -> Iterator[tuple[str, Numbers | Lists]]:
    for output in outputs:
        for one in output.inner or (output,):
            if output.listed:
                yield one.variable, rows.lists.get(one.variable) or none(len(rows))
            else:
                yield one.variable, rows.variables.get(one.variable, np.full(len(rows), -1))


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
        if sum(map(length, pending)) > max(most_rows, length(kept)):
            kept, pending = _united([kept, *pending]), []
    united = _united([kept, *pending])
    if length(united):
        yield united


def _united(pieces: list[Piece]) -> Piece:
    pieces = [piece for piece in pieces if length(piece)]
    if not pieces:
        return {}
    whole = {name: united_columns([piece[name] for piece in pieces]) for name in pieces[0]}
    rows, _ = distinct([column.codes() if isinstance(column, Lists) else column for column in whole.values()])
    return {
        name: column.take(rows) if isinstance(column, Lists) else column[rows]
        for name, column in whole.items()
    }


def event_of(piece: Piece, row: int) -> int:
    """The first event of a match."""
    firsts = (column.at(0) if isinstance(column, Lists) else column for column in piece.values())
    return min(int(numbers[row]) for numbers in firsts if numbers[row] >= 0)


def _limited(pieces: Iterator[Piece], events: Events, most: int | None) -> Iterator[Piece]:
    total = 0
    for piece in pieces:
        total += length(piece)
        if most is not None and total > most:
            segment = int(events.segment[event_of(piece, most - total)])
            message = f"more than {most} matches: {total} were found so far"
            raise KernelError("MAX_MATCHES", message, segment)
        yield piece
