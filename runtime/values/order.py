"""An order of the values of one type: which of several matches is taken must not depend on the input's."""

from __future__ import annotations

from collections.abc import Mapping

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
