"""Numbers as people read them."""

from __future__ import annotations

import math

from neelc.ir.patterns import Pattern
from neelc.ir.program import Match
from neelc.syntax.print_patterns import as_written, pattern_doc, render, wrap
from neelc.syntax.printer import show_event_type, show_output_column

UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


WORDS = ((1e12, "trillion"), (1e9, "billion"))


def amount(value: float) -> str:
    """A count or a share: three digits that matter, thousands apart.

    >>> [amount(value) for value in (0, 0.00512, 0.333333, 7.5, 1234.56, 99999999)]
    ['0', '0.00512', '0.333', '7.5', '1,230', '100,000,000']
    >>> [amount(value) for value in (23_300_000_000, 1.9e12, 3.2e15, 1e200)]
    ['23.3 billion', '1.9 trillion', '3.2e15', '1e200']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if abs(rounded) >= 1e15:
        mantissa, _, exponent = f"{rounded:.2e}".partition("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    for unit, word in WORDS:
        if abs(rounded) >= unit:
            return f"{rounded / unit:.3g} {word}"
    if abs(rounded) < 1e-6:
        return f"{rounded:.3g}"
    return f"{rounded:,.{digits}f}".rstrip("0").rstrip(".") if digits > 0 else f"{rounded:,.0f}"


def rows(value: float, is_assumed: bool = False) -> str:
    """An expected number of rows; with a star if it rests on defaults.

    >>> rows(1), rows(0.2), rows(17.5), rows(12345, is_assumed=True), rows(0)
    ('about 1 row', 'less than 1 row', 'about 18 rows', 'about 12,300 rows*', 'no rows')
    """
    star = "*" if is_assumed else ""
    if value < 1:
        return ("less than 1 row" if value else "no rows") + star
    count = amount(round(value)) if value < 1000 else amount(value)
    return f"about {count} row{'' if count == '1' else 's'}{star}"


def size(value: float) -> str:
    """A number of bytes.

    >>> size(12), size(2_340_000), size(5e21)
    ('12 B', '2.34 MB', '5,000,000 PB')
    """
    power = 0 if value < 1 else min(int(math.log10(value)) // 3, len(UNITS) - 1)
    return f"{amount(value / 1000**power)} {UNITS[power]}"


def times(value: float) -> str:
    """
    >>> times(3.14159), times(1.0), times(12345.6), times(math.inf)
    ('3.1x', '1.0x', '12,346x', 'many times')
    """
    if not math.isfinite(value):
        return "many times"
    if value >= 1e9:
        return f"{amount(value)}x"
    return f"{value:,.0f}x" if value >= 100 else f"{value:.1f}x"


# Queries and their parts as text that fits on a page.

MARGIN = " " * 14
"""What renderers may put before a line without making it too long."""
LONGEST = 20_000
"""Characters of a query that is still shown as a whole, step by step."""


def pattern_text(part: Pattern, before: str = "") -> str:
    """A part of a pattern, on several lines where it is long; `before` stands before it.

    >>> from pattern_examples import query
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

    >>> from pattern_examples import query
    >>> print(query_text(query("SEQ(A a, B b) WITHIN 10")))
    PATTERN SEQ(A a, B b)
    WITHIN 10 MILLISECONDS
    """
    found = clauses(query)
    return "\n".join(f"{word} {found[word]}" for word in words if word in found)
