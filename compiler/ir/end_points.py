"""What the names of Allen mean for the end points of two events, A and B, each valid in `[ts, te]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from neelc.ir.allen import ALLEN, Word


class EndPoint(NamedTuple):
    """The start of A or of B, or its `end`."""

    symbol: str
    end: bool


class EndComparison(NamedTuple):
    """`left < right` or `left = right`."""

    left: EndPoint
    op: str
    right: EndPoint


_DIRECT = {
    "BEFORE": "A.te < B.ts",
    "MEETS": "A.te = B.ts, A.ts < A.te, B.ts < B.te",
    "OVERLAPS": "A.ts < B.ts, B.ts < A.te, A.te < B.te",
    "STARTS": "A.ts = B.ts, A.te < B.te",
    "DURING": "B.ts < A.ts, A.te < B.te",
    "FINISHES": "A.te = B.te, B.ts < A.ts",
    "EQUALS": "A.ts = B.ts, A.te = B.te",
}
_INVERSE = {
    "AFTER": "B.te < A.ts",
    "MET BY": "A.ts = B.te, B.ts < B.te, A.ts < A.te",
    "OVERLAPPED BY": "B.ts < A.ts, A.ts < B.te, B.te < A.te",
    "STARTED BY": "A.ts = B.ts, B.te < A.te",
    "CONTAINS": "A.ts < B.ts, B.te < A.te",
    "FINISHED BY": "A.te = B.te, A.ts < B.ts",
}


def _comparison(text: str) -> EndComparison:
    left, op, right = text.split()
    return EndComparison(_end_point(left), op, _end_point(right))


def _end_point(text: str) -> EndPoint:
    symbol, name = text.split(".")
    return EndPoint(symbol, name == "te")


COMPARISONS: Mapping[str, tuple[EndComparison, ...]] = {
    name: tuple(map(_comparison, texts.split(", "))) for name, texts in {**_DIRECT, **_INVERSE}.items()
}
"""What must hold of the end points of A and B for each name; MEETS is said of intervals only."""


def names_between(left_lasts: bool, right_lasts: bool) -> tuple[str, ...]:
    """The names that can hold of A and B; what does not last is a point.

    >>> names_between(False, False)
    ('BEFORE', 'EQUALS', 'AFTER')
    >>> names_between(True, False)
    ('BEFORE', 'EQUALS', 'AFTER', 'STARTED BY', 'CONTAINS', 'FINISHED BY')
    >>> len(names_between(True, True))
    13
    """
    return tuple(
        name
        for name, words in ALLEN.items()
        if any((left_lasts or is_point("A", one)) and (right_lasts or is_point("B", one)) for one in words)
    )


def is_point(symbol: str, word: Word) -> bool:
    """Whether the start of a symbol is its end, in a word."""
    return any(step.count(symbol) == 2 for step in word)
