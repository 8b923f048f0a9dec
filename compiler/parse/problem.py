"""How a builder gives up on a statement."""

from __future__ import annotations

from typing import Any, NoReturn

from neelc.errors import Diagnostic
from neelc.source import Span


class Problem(Exception):
    """A statement that cannot be built; the statements around it still can."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


def fail(code: str, message: str, place: Any, hint: str | None = None) -> NoReturn:
    """Give up at `place`: a span, a token or a node of the parse tree."""
    raise Problem(Diagnostic(code, message, place if isinstance(place, Span) else span_of(place), hint))


def given_twice(clause: Any) -> NoReturn:
    """Give up at a clause of a kind that was there before."""
    word = clause.getChild(0).getText().upper()
    hint = "join their conditions with AND" if word == "WHERE" else "keep one of them"
    fail("NEEL1004", f"`{word}` is given twice", clause, hint)


def span_of(place: Any) -> Span:
    """Where a token or a node of the parse tree stands in the text."""
    if hasattr(place, "getSymbol"):
        place = place.getSymbol()
    start = place.start
    if isinstance(start, int):
        return Span(start, max(start, place.stop + 1))
    stop = place.stop or start
    return Span(start.start, max(start.start, stop.stop + 1))
