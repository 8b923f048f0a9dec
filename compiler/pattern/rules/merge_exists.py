"""The rule `merge_exists`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.patterns import Exists, Pattern
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import constrained


def merge_exists(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """There is an x for which there is a y: there are an x and a y. An EXISTS that drops nothing is its part.

    Either way x and y lie in the scope, and differ from each other and from all events of the match. The
    conditions on the inner EXISTS cannot name y: they mean the same on its part. An `[id]` on an EXISTS
    concerns the dropped events too, so it is the same on the part.

    >>> from pattern_examples import after
    >>> print(after(merge_exists, "EXISTS x : SEQ(A a, X x)"))
    None
    >>> print(after(merge_exists, "EXISTS x : (EXISTS y : SEQ(A a, X x, Y y WHERE [id]) : x.x > a.x)"))
    EXISTS x, y : SEQ(A a, X x, Y y WHERE [id] AND x.x > a.x)

    Not when the inner EXISTS has a window: it is measured from the events without y, but with x.

    >>> after(merge_exists, "EXISTS x : ((EXISTS y : SEQ(A a, X x, Y y)) WITHIN 5)")
    """
    match part:
        case Exists((), inner):
            return constrained(inner, part.where, part.within)
        case Exists(variables, Exists(more, inner, where=where, within=None)):
            body = constrained(inner, where)
            return None if body is None else replace(part, variables=(*variables, *more), part=body)
    return None
