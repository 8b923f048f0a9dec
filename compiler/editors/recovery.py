"""A statement out of what has been written of it so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neelc.ir.script import CreateQuery, Query, RunQuery, Statement
from neelc.parse.attempts import statement_or_none
from neelc.parse.lexemes import Lexeme, closing

# How many tokens before the cursor may be left out.
MOST_DROPPED = 60

STAND_IN = "neelc_cursor"
"""The name of what is to come."""


def query_at(text: str, statement: Sequence[Lexeme], cursor: int) -> Query | None:
    """The query that a statement most likely will be; None if nothing of it can be read.

    Places of what stands before the cursor are those in the text.

    >>> from neelc.parse.lexemes import lexemes
    >>> text = "PATTERN SEQ(A a, B b) WHERE a. WITHIN 5 SECONDS"
    >>> print(query_at(text, lexemes(text), 30).where)
    a.neelc_cursor
    >>> text = "PATTERN SEQ(A a, !SEQ(B b, "
    >>> print(query_at(text, lexemes(text), len(text)).pattern)
    SEQ(A a, !SEQ(B b))
    """
    if not statement[0].says("PATTERN", "SELECT", "CREATE", "("):
        return None  # a query of Spark's, or nothing yet
    for candidate in _candidates(text, statement, cursor):
        query = _query(statement_or_none(candidate))
        if query is not None:
            return query
    return None


def _query(statement: Statement | None) -> Query | None:
    return statement.query if isinstance(statement, CreateQuery | RunQuery) else None


def _candidates(text: str, statement: Sequence[Lexeme], cursor: int) -> Iterator[str]:
    """Texts that might be a statement, the likeliest first; a name stands in for what is to come."""
    start, end = statement[0].start, statement[-1].end
    head, tail = " " * start + text[start:cursor], text[cursor:end] if cursor < end else ""
    before = [lexeme for lexeme in statement if lexeme.start < cursor]
    is_in_word = bool(before) and before[-1].end > cursor
    if is_in_word:
        yield head + tail
    # A name needs a blank to be one: `B b` and `B bc` are both right, and only one of them is meant.
    closed = closing(statement)
    for middle in ("", STAND_IN, f" {STAND_IN}"):
        yield head + middle + tail
        yield head + middle + tail + closed
    for dropped in range(min(len(before), MOST_DROPPED)):
        kept = before[: len(before) - dropped]
        for middle in ("", f" {STAND_IN}"):
            yield " " * start + text[start : kept[-1].end] + middle + closing(kept)
