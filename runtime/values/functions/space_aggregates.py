"""Aggregates of geometries: functions of the values of a list, in its order, as those of users are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from neelc.runtime.late_module import LateModule
from neelc.runtime.values.functions.space import line_through, points_of, texts, union_of

if TYPE_CHECKING:
    import numpy as np
else:
    np = LateModule("numpy")

Values = Sequence[object]


def union(values: Values) -> object:
    """What the geometries cover together.

    >>> union(["POINT (1 2)", None, "LINESTRING (0 2, 4 2)"])
    'LINESTRING (0 2, 4 2)'
    """
    return _text(union_of(values))


def trajectory(values: Values) -> object:
    """The line through the points, in their order.

    >>> trajectory(["POINT (0 0)", None, "POINT (1 2)", "POLYGON ((2 2, 4 2, 4 4, 2 4, 2 2))"])
    'LINESTRING (0 0, 1 2, 3 3)'
    >>> trajectory(["POINT (0 0)"]), trajectory([None])
    ('POINT (0 0)', None)
    """
    return _text(line_through(values))


def distance(values: Values) -> object:
    """The length of that line.

    >>> distance(["POINT (0 0)", "POINT (3 4)", "POINT (3 5)"]), distance(["POINT (1 1)"])
    (6.0, 0.0)
    """
    points = points_of(values)
    steps = np.diff(points, axis=0)
    return float(np.hypot(steps[:, 0], steps[:, 1]).sum()) if len(points) else None


def _text(found: Any) -> object:
    return None if found is None else texts(np.array([found], object))[0]


AGGREGATES: dict[str, tuple[Callable[[list[object]], object], str]] = {
    "distance": (distance, "DOUBLE"),
    "st_union": (union, "GEOMETRY"),
    "trajectory": (trajectory, "GEOMETRY"),
}
"""The functions, and the types that they return."""
