"""An order for rows that have none, so that the same result is always printed as the same text."""

from __future__ import annotations

import math
from collections.abc import Iterable

Values = tuple[object, ...]


def in_order(rows: Iterable[Values]) -> list[Values]:
    """The rows by their values, from the left: NULL first, numbers by size.

    >>> in_order([(10, "b"), (9, "c"), (None, "a"), (9, "a")])
    [(None, 'a'), (9, 'a'), (9, 'c'), (10, 'b')]
    """
    return sorted(rows, key=lambda row: [_order(value) for value in row])


def _order(value: object) -> tuple[object, ...]:
    """A key that orders the values of a column: NULL first, numbers by size."""
    match value:
        case None:
            return (0,)
        case float() if math.isnan(value):
            return (2,)
        case dict():
            return (3, *(_order(inner) for inner in value.values()))
        case list() | tuple():
            return (3, *(_order(inner) for inner in value))
    return (1, value)
