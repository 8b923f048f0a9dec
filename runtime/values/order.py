"""Which of two values comes first, and which are equal: Spark's order, and one by which values are sorted.

NaN equals NaN and is greater than all else; 0.0 equals -0.0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

NESTED = (list, tuple, dict)


def order(left: object, right: object) -> int:
    """-1, 0 or 1: Spark's order. NaN equals itself and is greater than every number; 0.0 equals -0.0.

    Inside arrays and structs NULL equals itself and comes first.

    >>> nan = float("nan")
    >>> order(nan, nan), order(nan, float("inf")), order([1], [1, None]), order([None], [1])
    (0, 1, -1, -1)
    """
    if left is None or right is None:
        return (left is not None) - (right is not None)
    match left, right:
        case ((list() | tuple()), (list() | tuple())):
            return _order_of_lists(left, right)
        case dict(), dict():
            return _order_of_lists(list(left.values()), list(right.values()))
        case float(), float() if math.isnan(left) or math.isnan(right):
            return math.isnan(left) - math.isnan(right)
    return bool(left > right) - bool(left < right)  # type: ignore[operator]


def _order_of_lists(left: list[object] | tuple[object, ...], right: list[object] | tuple[object, ...]) -> int:
    for one, other in zip(left, right, strict=False):
        difference = order(one, other)
        if difference:
            return difference
    return (len(left) > len(right)) - (len(left) < len(right))


def less(left: Any, right: Any) -> bool:
    """Whether `left < right`, of values that are not NULL.

    >>> less(1.0, float("nan")), less(float("nan"), 1.0), less([None], [1])
    (True, False, True)
    """
    if isinstance(left, NESTED):
        return order(left, right) < 0
    if left != left:
        return False
    return bool(right != right or left < right)


def equal(left: Any, right: Any) -> bool:
    """Whether `left = right`, of values that are not NULL.

    >>> equal(0.0, -0.0), equal([float("nan")], [float("nan")]), equal("a", "A")
    (True, True, False)
    """
    if isinstance(left, NESTED):
        return order(left, right) == 0
    return bool(left == right or (left != left and right != right))


def extreme(values: Sequence[object], sign: int) -> object:
    """The greatest (`sign` 1) or least (-1) value; NULLs do not count, and of nothing it is NULL."""
    found: object = None
    for value in values:
        if value is not None and (found is None or order(value, found) == sign):
            found = value
    return found


def comparable(value: object) -> object:
    """A value that sets can hold and that is equal where SQL groups values together: NaN is one value.

    >>> comparable(float("nan")) == comparable(float("nan")), comparable([1, {"x": None}])
    (True, (1, frozenset({('x', None)})))
    """
    match value:
        case float() if value != value:
            return ("NaN",)
        case list() | tuple():
            return tuple(comparable(item) for item in value)
        case dict():
            return frozenset((key, comparable(item)) for key, item in value.items())
    return value


# Which of several matches is taken must not depend on the order of the input.

Place = tuple[object, ...]


def place_of(value: object) -> Place:
    """Where a value stands among those of its type: NULL first, NaN last, lists and structs by what is in
    them, maps by their sorted entries.

    >>> values = [float("nan"), 2.5, None, -0.0]
    >>> sorted(values, key=place_of)
    [None, -0.0, 2.5, nan]
    >>> place_of({"x": 1, "y": [None]}) < place_of({"x": 1, "y": [0]}) < place_of({"x": 2, "y": []})
    True
    """
    match value:
        case None:
            return (0,)
        case float() if value != value:
            return (2,)
        case list() | tuple():
            return (1, *(place_of(item) for item in value))
        case Mapping():
            entries = sorted((str(key), place_of(item)) for key, item in value.items())
            return (1, *entries)
    return (1, value)
