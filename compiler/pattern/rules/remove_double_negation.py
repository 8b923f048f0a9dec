"""The rule `remove_double_negation`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.patterns import And, Exists, Not, Pattern, Seq, satisfiable_by_nothing, targets
from neelc.pattern.analysis.regions import QueryFacts


def remove_double_negation(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """Not no q: there is a q. That is an EXISTS over all variables of q, in the same scope (decision 0009).

    Neither `!!q` nor such an EXISTS binds an event, so neither takes room in a SEQ.

    >>> from pattern_examples import after
    >>> print(after(remove_double_negation, "SEQ(A a, !!SEQ(B b, C c), D d)"))
    SEQ(A a, EXISTS b, c : SEQ(B b, C c), D d)
    >>> print(after(remove_double_negation, "SEQ(A a, !!!B b, D d)"))
    SEQ(A a, !B b, D d)
    >>> print(after(remove_double_negation, "SEQ(A a, !!(EXISTS b : B b), D d)"))
    SEQ(A a, EXISTS b : B b, D d)

    Not when q can be satisfied by nothing: `!!(B? b)` requires a B, EXISTS would not. Not in AND_NEG, where
    a positive part does not look between its neighbours. Under strategies other than SKIP TILL ANY MATCH
    there is no EXISTS.

    >>> after(remove_double_negation, "SEQ(A a, !!(B? b), D d)")
    >>> after(remove_double_negation, "AND_NEG(A a, !!B b, D d)")
    >>> after(remove_double_negation, "SEQ(A a, !!B b, D d) USING SKIP TILL NEXT MATCH")

    Not in a list that can be satisfied by nothing else. What a negation rejects must bind an event (decision
    0008), for which an event that EXISTS drops counts and one that `!!q` finds does not: a C alone is no hit
    of `!SEQ(B? b, !!C c)`, but one of `!SEQ(B? b, EXISTS c : C c)`. If some part of the list needs an event,
    each of its hits has that one in both forms, and so does each hit of what is around the list.

    >>> after(remove_double_negation, "SEQ(A a, !SEQ(B? b, !!C c), D d)")
    >>> print(after(remove_double_negation, "SEQ(A a, !SEQ(B b, !!C c), D d)"))
    SEQ(A a, !SEQ(B b, EXISTS c : C c), D d)
    """
    if not isinstance(part, Seq | And):
        return None
    has_event = not satisfiable_by_nothing(part)
    changed = tuple(_positive(inner, facts, has_event) for inner in part.parts)
    return None if changed == part.parts else replace(part, parts=changed)


def _positive(part: Pattern, facts: QueryFacts, has_event: bool) -> Pattern:
    """A part of a list, as an EXISTS if it is a double negation that may be one. `has_event`: the list is not
    satisfied without an event, those that double negations find not counted."""
    match part:
        case Not(Not(Not() as inner)):
            return inner
        case Not(Not(inner)) if has_event and facts.any_match and not satisfiable_by_nothing(inner):
            dropped = targets(inner)
            return Exists(dropped, inner, span=part.span) if dropped else inner
    return part
