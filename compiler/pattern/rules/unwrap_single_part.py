"""The rule `unwrap_single_part`."""

from __future__ import annotations

from neelc.ir import patterns as p
from neelc.ir.node import walk
from neelc.ir.patterns import Listing
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import constrained


def unwrap_single_part(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """A list of one part is that part, with the conditions and windows of both.

    The list has the events of its part, so its window, its conditions and its `[id]` mean the same on the
    part as on the list; the part's scope is the list's. Of two windows the shorter one counts.

    >>> from pattern_examples import after
    >>> print(after(unwrap_single_part, "SEQ(A a, AND(SEQ(B b, C c WHERE [id])) WHERE b.x > a.x)"))
    SEQ(A a, SEQ(B b, C c WHERE [id]) WHERE b.x > a.x)
    >>> print(after(unwrap_single_part, "SEQ(A a, !OR((SEQ(B b, C c) WITHIN 9)) WITHIN 5, D d)"))
    SEQ(A a, !(SEQ(B b, C c) WITHIN 5 MILLISECONDS), D d)

    Not when the list has a condition or a window and the part is optional: those of an optional part are not
    checked when it is absent. Here, without a B, the condition is not TRUE, and there is no match:

    >>> after(unwrap_single_part, "SEQ(A a, SEQ(B? b WHERE b.x > 1), C c)")

    Nor as the body of a closure, which gives `k[i].b` its name; nor for a window of time around one of
    events.

    >>> after(unwrap_single_part, "SEQ(A a, SEQ(B b)+ k[], C c)")
    >>> after(unwrap_single_part, "SEQ(A a, AND((SEQ(B b, C c) WITHIN 3 EVENTS)) WITHIN 5)")
    """
    if not isinstance(part, Listing) or len(part.parts) != 1:
        return None
    inner = part.parts[0]
    if isinstance(inner, p.Event | p.Repeat) and _is_repeated(part, facts):
        return None
    return constrained(inner, part.where, part.within)


def _is_repeated(part: p.Pattern, facts: QueryFacts) -> bool:
    return any(isinstance(node, p.Repeat) and node.part is part for node in walk(facts.query.pattern))
