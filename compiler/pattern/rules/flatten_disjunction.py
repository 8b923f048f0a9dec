"""The rule `flatten_disjunction`."""

from __future__ import annotations

from dataclasses import replace
from operator import is_

from neelc.ir.patterns import Or, Pattern
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import branches_of


def flatten_disjunction(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """An OR directly inside an OR is one choice among all their branches: splice it in.

    The condition and the window of the inner OR go to each of its branches: wherever they stand, they are
    checked when one of those is taken, with the variables of all others NULL. So is its `[id]`, which
    concerns the events of the branch that was taken.

    >>> from pattern_examples import after
    >>> print(after(flatten_disjunction, "OR(A a, OR(B b, SEQ(C c, D d) WHERE b.x > 1 OR c.x > 1))"))
    OR(A a, (B b : b.x > 1 OR c.x > 1), SEQ(C c, D d WHERE b.x > 1 OR c.x > 1))

    Not when one of those branches is optional: a condition on an optional part is not checked when the part
    is absent.

    >>> after(flatten_disjunction, "SEQ(A a, OR(B b, OR(C? c, D d WHERE c.x > 1)))")
    """
    if not isinstance(part, Or):
        return None
    spliced = tuple(new for old in part.parts for new in branches_of(old) or (old,))
    same = len(spliced) == len(part.parts) and all(map(is_, spliced, part.parts))
    return None if same else replace(part, parts=spliced)
