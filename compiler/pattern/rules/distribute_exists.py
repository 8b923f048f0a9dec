"""The rule `distribute_exists`."""

from __future__ import annotations

from neelc.ir.patterns import Exists, Or, Pattern, targets
from neelc.pattern.analysis.absent import without
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import branches_of


def distribute_exists(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """There is a p or a q: there is a p, or there is a q.

    The conditions of the EXISTS do not name the dropped variables; they move to the new OR, with the window.
    Those of the inner OR move to its branches. Where a branch names a dropped variable of another one, that
    variable is NULL. There are as many branches as before, so no limit applies.

    >>> from pattern_examples import after
    >>> print(after(distribute_exists, "EXISTS x : OR(SEQ(A a, X x), B b)"))
    OR(EXISTS x : SEQ(A a, X x), B b)
    >>> print(after(distribute_exists, "EXISTS x : OR(SEQ(A a, X x), B b WHERE x.x > 1 OR b.x > 1)"))
    OR(EXISTS x : SEQ(A a, X x WHERE x.x > 1 OR b.x > 1), (B b : NULL > 1 OR b.x > 1))

    Not when a condition names a dropped list of another branch, which is not NULL where it is absent; nor
    when an optional branch would have to take a condition.

    >>> after(distribute_exists, "EXISTS x : OR(SEQ(A a, X+ x[]), B b WHERE count(x[]) = 2 OR b.x > 1)")
    >>> after(distribute_exists, "SEQ(A a, EXISTS x : OR(B? b, X x WHERE b.x > 1))")
    """
    match part:
        case Exists(variables, Or() as inner):
            branches = [_dropping(branch, variables) for branch in branches_of(inner)]
            if not branches or None in branches:
                return None
            dropping = tuple(branch for branch in branches if branch is not None)
            return Or(dropping, where=part.where, within=part.within, span=part.span)
    return None


def _dropping(branch: Pattern, variables: tuple[str, ...]) -> Pattern | None:
    """`branch` under an EXISTS of its own, if it has any of the variables."""
    own = tuple(name for name in variables if name in targets(branch))
    alone = without(branch, set(variables) - set(own))
    return Exists(own, alone) if own and alone is not None else alone
