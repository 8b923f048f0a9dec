"""Aggregates of geometries, and short names of functions of geometries: what a script may write in place of
others. A function that a script or its caller declares by one of these names is that function."""

from __future__ import annotations

from dataclasses import replace

from neelc.arguments import UserAggregate
from neelc.ir import types
from neelc.ir.expressions import Call
from neelc.runtime.values.functions.space_aggregates import AGGREGATES

SHORT = {
    "area": "st_area",
    "crosses": "st_crosses",
    "disjoint": "st_disjoint",
    "distance": "st_distance",
    "dwithin": "st_dwithin",
    "intersects": "st_intersects",
    "touches": "st_touches",
}
"""The names that JEPC has, and their kin, where no function and no word of the language is called so."""

RESULTS = {"DOUBLE": types.DOUBLE, "GEOMETRY": types.GEOMETRY}

SPATIAL_AGGREGATES: dict[str, tuple[str, UserAggregate, types.DataType]] = {
    name: (name, UserAggregate(function, result), RESULTS[result])
    for name, (function, result) in AGGREGATES.items()
}
"""By their names: as if users had registered them, so that every language and engine has them."""


def over_rows(node: Call) -> Call:
    """The same, where an aggregate is over the rows of a match: a function of the list of their values.

    >>> from neelc.syntax import expression
    >>> print(over_rows(expression("distance(A.pos)")))
    st_length(st_makeline(collect_list(A.pos)))
    """
    name = node.name.lower()
    if name not in SPATIAL_AGGREGATES or len(node.arguments) != 1:
        return spelled_out(node)
    values = replace(node, name="collect_list")
    line = Call("st_union_of" if name == "st_union" else "st_makeline", (values,), span=node.span)
    return Call("st_length", (line,), span=node.span) if name == "distance" else line


def spelled_out(node: Call) -> Call:
    """A call by the name of the function, or of the aggregate, that is meant.

    >>> from neelc.syntax import expression
    >>> for text in ("intersects(a.x, b.x)", "DISTANCE(b[].x)", "distance(a.x, b.x)", "st_x(a.x)"):
    ...     print(spelled_out(expression(text)))
    st_intersects(a.x, b.x)
    distance(b[].x)
    st_distance(a.x, b.x)
    st_x(a.x)
    """
    name = node.name.lower()
    if name in SPATIAL_AGGREGATES and len(node.arguments) == 1:
        _, aggregate, type = SPATIAL_AGGREGATES[name]
        return replace(node, name=name, type=type, function=aggregate.function)
    return replace(node, name=SHORT[name]) if name in SHORT else node
