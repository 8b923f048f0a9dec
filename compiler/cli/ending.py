"""Matches that rest on the end of the data: how many a query has, if it does not say WHEN COMPLETE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from neelc.errors import NeelError
from neelc.ir.program import Match, Program
from neelc.pattern.rules.when_complete_to_condition import when_complete_to_condition

Count = Callable[[Program, int], int]
"""How many rows the query of a program at a place has."""


def end_note(program: Program, place: int, rows: int, count: Count) -> Iterator[str]:
    """The sentence about matches of a query, which has so many rows, that the end of the data decides. The
    query is executed once more, with WHEN COMPLETE: only if that can make a difference."""
    changed = with_complete(program, place) if rows else None
    if changed is None:
        return
    try:
        decided = rows - count(changed, place)
    except NeelError:
        return  # the note is not worth an error
    if decided > 0:
        named = program.queries[place].name
        of = f" of {named}" if named else ""
        are = "is" if decided == 1 else "are"
        matches = "match" if rows == 1 else "matches"
        yield (
            f"{decided:,} of {rows:,} {matches}{of} {are} decided by the end of the data: a negation looks "
            "beyond the last event; WHEN COMPLETE keeps only the others"
        )


def with_complete(program: Program, place: int) -> Program | None:
    """The program whose query at a place says WHEN COMPLETE; None if that makes no difference, or if its rows
    are no matches."""
    named = program.queries[place]
    match = named.query
    if not isinstance(match, Match) or not _has_matches_for_rows(match):
        return None
    changed = replace(match, complete=True)
    found = when_complete_to_condition(changed)
    if not isinstance(found, Match) or found.streams == match.streams:
        return None
    queries = list(program.queries)
    queries[place] = replace(named, query=changed)
    return replace(program, queries=tuple(queries))


def _has_matches_for_rows(match: Match) -> bool:
    is_other = match.complete or match.distinct or match.collapsed or match.aggregated or match.is_imprecise
    return not is_other and match.partial is None and match.kept is None and match.order is None
