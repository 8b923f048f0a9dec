"""Queries and their parts as text that fits on a page."""

from __future__ import annotations

from neelc.ir.layout import render, wrap
from neelc.ir.logical import Match
from neelc.ir.pattern import Pattern
from neelc.ir.show_pattern import as_written, pattern_doc
from neelc.ir.show_plan import show_event_type, show_output_column

MARGIN = " " * 14
"""What renderers may put before a line without making it too long."""
LONGEST = 20_000
"""Characters of a query that is still shown as a whole, step by step."""


def pattern_text(part: Pattern, before: str = "") -> str:
    """A part of a pattern, on several lines where it is long; `before` stands before it.

    >>> from neelc.rewrite.examples import query
    >>> print(pattern_text(query("SEQ(A a, B b)").pattern, "PATTERN "))
    PATTERN SEQ(A a, B b)

    A component that has no name but its type's is shown as it was written.

    >>> print(pattern_text(query("SEQ(A, B+, A)").pattern))
    SEQ(A, B+ B[], A A_2)
    """
    lines = render(wrap(before, pattern_doc(as_written(part))), MARGIN).split("\n")
    return "\n".join(line.removeprefix(MARGIN) for line in lines)


def clauses(query: Match) -> dict[str, str]:
    """The clauses of a bound query by their words."""
    flags = [word.upper() for word in ("distinct", "collapsed", "aggregated") if getattr(query, word)]
    outputs = ",\n  ".join(map(show_output_column, query.outputs))
    found = {
        "PATTERN": pattern_text(query.pattern, "PATTERN ").removeprefix("PATTERN "),
        "TYPES": ", ".join(map(show_event_type, query.types)),
        "PARTITION BY": ", ".join(query.partition),
        "WITHIN": str(query.within) if query.within else "",
        "USING": query.strategy,
        "RETURN": "\n  ".join([" ".join(flags), outputs]) if flags else outputs,
    }
    return {word: text for word, text in found.items() if text}


def query_text(query: Match, words: tuple[str, ...] = ("PATTERN", "WITHIN")) -> str:
    """Some clauses of a query.

    >>> from neelc.rewrite.examples import query
    >>> print(query_text(query("SEQ(A a, B b) WITHIN 10")))
    PATTERN SEQ(A a, B b)
    WITHIN 10 MILLISECONDS
    """
    found = clauses(query)
    return "\n".join(f"{word} {found[word]}" for word in words if word in found)
