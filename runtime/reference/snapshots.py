"""Comparing results of the event algebra: as snapshots.

"Two results are equal when at every instant they hold the same multiset of payloads": however the valid times
are cut into rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from neelc.runtime.values.order import comparable

Row = Sequence[object]
"""A payload's values, then the first instant at which it is valid and the first at which it no longer is;
None there is no end."""

TOLERANCE = 1e-9
"""By how much of its size a floating point number may differ: sums of them depend on their order."""


def snapshots_equal(left: Iterable[Row], right: Iterable[Row]) -> bool:
    """Whether two results hold the same payloads at every instant.

    >>> snapshots_equal([("A", 1, 5)], [("A", 3, 5), ("A", 1, 3)])
    True
    >>> snapshots_equal([("A", 1, 5)], [("A", 1, 4)])
    False
    >>> snapshots_equal([(-0.0, "b", 1, 5), (0.0, "a", 1, 5)], [(0.0, "a", 1, 5), (0.0, "b", 1, 5)])
    True
    """
    return next(differences(left, right), None) is None


def differences(left: Iterable[Row], right: Iterable[Row]) -> Iterator[tuple[object, list[Row], list[Row]]]:
    """The instants from which on the snapshots differ, and both snapshots there."""
    sides = [[row for row in side if row[-1] is None or row[-2] < row[-1]] for side in (left, right)]  # type: ignore[operator]
    times = {time for side in sides for row in side for time in row[-2:] if time is not None}
    for time in sorted(times):  # type: ignore[type-var]
        one, other = (snapshot(side, time) for side in sides)
        if len(one) != len(other) or not all(map(_close, one, other)):
            yield time, one, other


def snapshot(rows: Iterable[Row], time: object) -> list[Row]:
    """The payloads that are valid at an instant, in an order that depends on their values.

    >>> snapshot([("B", 1, None), ("A", 1, 3), ("C", 0, 1)], 1)
    [('A',), ('B',)]
    """
    valid = (row for row in rows if row[-2] <= time and (row[-1] is None or time < row[-1]))  # type: ignore[operator]
    return sorted((tuple(row[:-2]) for row in valid), key=lambda row: [_order(value) for value in row])


def _order(value: object) -> str:
    """Numbers that are almost equal stand at one place."""
    match value:
        case bool():
            return repr(value)
        case int() | float() | Decimal() if math.isfinite(value):
            return f"{float(value) + 0.0:.6e}"  # both zeros are one
    return repr(comparable(value))


def _close(left: object, right: object) -> bool:
    match left, right:
        case float(), float():
            both_nan = math.isnan(left) and math.isnan(right)
            return both_nan or math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        case ((tuple() | list()), (tuple() | list())):
            return len(left) == len(right) and all(map(_close, left, right))
    return comparable(left) == comparable(right)
