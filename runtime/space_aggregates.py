"""Aggregates of geometries: functions of the values of a list, in its order, as those of users are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neelc.runtime.values.functions.space import geometries, geometries_of_bytes, library, texts

Values = Sequence[object]


def union(values: Values) -> object:
    """What the geometries cover together.

    >>> union(["POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))", None, "POLYGON ((2 0, 3 0, 3 2, 2 2, 2 0))"])
    'POLYGON ((0 2, 2 2, 3 2, 3 0, 2 0, 0 0, 0 2))'
    """
    found = _known(values)
    shapely = library()
    try:
        return _text(shapely.union_all(found)) if len(found) else None
    except shapely.errors.GEOSException:  # borders that cross themselves
        return None


def trajectory(values: Values) -> object:
    """The line through the points, in their order; through the centres of what is no point. Of one point, it
    is that point.

    >>> trajectory(["POINT (0 0)", None, "POINT (1 2)", "POLYGON ((2 2, 4 2, 4 4, 2 4, 2 2))"])
    'LINESTRING (0 0, 1 2, 3 3)'
    >>> trajectory(["POINT (0 0)"]), trajectory([None])
    ('POINT (0 0)', None)
    """
    points = _points(values)
    if not len(points):
        return None
    shapely = library()
    return _text(shapely.points(points[0]) if len(points) == 1 else shapely.linestrings(points))


def distance(values: Values) -> object:
    """The length of the line through the points, in their order.

    >>> distance(["POINT (0 0)", "POINT (3 4)", "POINT (3 5)"]), distance(["POINT (1 1)"])
    (6.0, 0.0)
    """
    points = _points(values)
    steps = np.diff(points, axis=0)
    return float(np.hypot(steps[:, 0], steps[:, 1]).sum()) if len(points) else None


def _known(values: Values) -> Any:
    """The geometries of texts, or of bytes; not those that are NULL, or malformed."""
    there = np.fromiter((one for one in values if one is not None), object)
    of_bytes = len(there) > 0 and isinstance(there[0], bytes)
    found = geometries_of_bytes(there) if of_bytes else geometries(there)
    return found[~library().is_missing(found)]


def _points(values: Values) -> Any:
    """The coordinates of points and centres; what is empty has none."""
    return library().get_coordinates(library().centroid(_known(values)))


def _text(found: Any) -> object:
    return texts(np.array([found], object))[0]


AGGREGATES: dict[str, tuple[Callable[[list[object]], object], str]] = {
    "distance": (distance, "DOUBLE"),
    "st_union": (union, "GEOMETRY"),
    "trajectory": (trajectory, "GEOMETRY"),
}
"""The functions, and the types that they return."""
