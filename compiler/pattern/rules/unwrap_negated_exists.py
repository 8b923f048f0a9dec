"""The rule `unwrap_negated_exists`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.patterns import Exists, Not, Pattern
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import constrained


def unwrap_negated_exists(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """There is no q with an x to it: there are no q and x. `!EXISTS x : q` is `!q`.

    Either way a hit is a choice of events for all variables of q, x among them. They lie in the same scope
    and differ from each other and from the match. A condition on the EXISTS is about the same choice.

    >>> from pattern_examples import after
    >>> print(after(unwrap_negated_exists, "SEQ(A a, !(EXISTS x : SEQ(B b, X x) : b.x > a.x), C c)"))
    SEQ(A a, !SEQ(B b, X x WHERE b.x > a.x), C c)

    Not when the EXISTS has a window: it is measured without x.

    >>> after(unwrap_negated_exists, "SEQ(A a, !((EXISTS x : SEQ(B b, X x)) WITHIN 5), C c)")
    """
    match part:
        case Not(Exists(_, inner, where=where, within=None)):
            body = constrained(inner, where)
            return None if body is None else replace(part, part=body)
    return None
