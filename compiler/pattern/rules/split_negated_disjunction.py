"""The rule `split_negated_disjunction`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.patterns import Listing, Not, Or, Pattern, declared, renamed
from neelc.pattern.analysis.absent import without
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import constrained


def split_negated_disjunction(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """Not one of p and q: no p, and no q. `!OR(p, q)` is `!p, !q`, two parts side by side in one scope.

    Negative parts take no room in a list. The condition and the window of the OR go to each branch, and
    where a condition names variables of another branch, these are NULL.

    >>> from pattern_examples import after
    >>> print(after(split_negated_disjunction, "SEQ(A a, !OR(B b, SEQ(C c, D d)), E e)"))
    SEQ(A a, !B b, !SEQ(C c, D d), E e)
    >>> print(after(split_negated_disjunction, "SEQ(A a, !OR(B b, C c WHERE b.x > a.x OR c.x > a.x), E e)"))
    SEQ(A a, !(B b : b.x > a.x OR NULL > a.x), !(C c : NULL > a.x OR c.x > a.x), E e)

    Not when a condition names a list of another branch, which is not NULL where it is absent; nor when a
    branch is optional and would take a condition: it would not be checked when the branch is absent.

    >>> after(split_negated_disjunction, "SEQ(A a, !OR(B b, C* c[] WHERE count(c[]) > 2), E e)")
    >>> after(split_negated_disjunction, "SEQ(A a, !OR(SEQ(B? b, C? c)?, D d WHERE b.x IS NULL), E e)")
    """
    if not isinstance(part, Listing) or isinstance(part, Or):
        return None
    parts: list[Pattern] = []
    for inner in part.parts:
        parts += _split(inner, facts)
    return replace(part, parts=tuple(parts)) if len(parts) > len(part.parts) else None


def _split(part: Pattern, facts: QueryFacts) -> list[Pattern]:
    """A negated OR as one negation for each branch; whatever else it is, itself."""
    if not isinstance(part, Not) or not isinstance(part.part, Or):
        return [part]
    whole = part.part
    negations: list[Pattern] = []
    taken: set[str] = set()
    for branch in whole.parts:
        rebuilt = constrained(branch, whole.where, whole.within)
        alone = rebuilt and without(rebuilt, declared(whole) - declared(branch))
        if alone is None:
            return [part]
        negations.append(Not(_with_own_names(alone, taken, facts), span=branch.span))
        taken |= declared(negations[-1])
    return negations


def _with_own_names(branch: Pattern, taken: set[str], facts: QueryFacts) -> Pattern:
    """Branches of an OR may share names, parts of a list may not."""
    names: dict[str, str] = {}
    for name in sorted(declared(branch) & taken):
        names[name] = facts.fresh(name, (*taken, *names.values()))
    return renamed(branch, names) if names else branch
