"""The rule `push_negation_into_conjunction`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir.expressions import conjoin
from neelc.ir.patterns import And, Listing, Not, Or, Pattern
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import (
    constrained,
    each_choice,
    loose_same,
    obstacle_to_conjunction,
    own_conditions,
    too_many_cases,
)
from neelc.pattern.rules.rule import RefusalReason


def push_negation_into_conjunction(part: Pattern, facts: QueryFacts) -> Pattern | RefusalReason | None:
    """Not both B and C: there is no B, or there is no C.

    The parts of an AND have one scope, that of the negation. If no other constraint ties them to each other,
    the AND occurs exactly if each part does.

    >>> from pattern_examples import after
    >>> print(after(push_negation_into_conjunction, "SEQ(A a, !AND(B b, SEQ(C c, D d)), E e)"))
    OR(SEQ(A a, !B b, E e), SEQ(A a, !SEQ(C c, D d), E e))

    Not with a condition, an `[id]` or a window over several parts; nor when one event could be bound in two
    of them, since a single one would then satisfy each, but not both; nor when a part needs no event.

    >>> print(after(push_negation_into_conjunction, "SEQ(A a, !AND(B b, C c WHERE b.x = c.x), E e)"))
    refused: b.x = c.x ties the negated events together
    >>> print(after(push_negation_into_conjunction, "SEQ(A a, !AND(B b, B c), E e)"))
    refused: one event could be both B b and B c, and it must not be both
    >>> print(after(push_negation_into_conjunction, "SEQ(A a, !AND(B b, C? c), E e)"))
    refused: C? c needs no event
    >>> print(after(push_negation_into_conjunction, "SEQ(A a, !AND(B b, C c, !D d), E e)"))
    refused: !D d needs no event

    Under the other strategies OR has its place at the root only.

    >>> text = "SEQ(A a, !AND(B b, C c), E e) USING SKIP TILL NEXT MATCH"
    >>> print(after(push_negation_into_conjunction, text))
    OR(SEQ(A a, !B b, E e), SEQ(A a, !C c, E e))
    >>> text = "SEQ(A a, SEQ(B b, !AND(C c, D d), E e)+ k[]) USING SKIP TILL NEXT MATCH"
    >>> print(after(push_negation_into_conjunction, text))
    refused: OR has no meaning inside other parts under SKIP TILL NEXT MATCH
    """
    if not isinstance(part, Listing) or isinstance(part, Or):
        return None
    refused = None
    choices: list[list[Pattern]] = []
    for negative in part.parts:
        choices.append([negative])
        match negative:
            case Not(And(parts) as inner) if len(parts) > 1:
                reason = obstacle_to_conjunction(inner, facts) or loose_same(part, facts)
                if reason := reason or _misplaced(part, facts) or too_many_cases(part, facts):
                    refused = RefusalReason(reason, negative)
                else:
                    choices[-1] = list(_cases(inner))
    return each_choice(part, choices) if any(len(cases) > 1 for cases in choices) else refused


def _misplaced(part: Pattern, facts: QueryFacts) -> str | None:
    if facts.any_match or any(part is branch for branch in _branches(facts.query.pattern)):
        return None
    return f"OR has no meaning inside other parts under {facts.query.strategy}"


def _branches(part: Pattern) -> Iterator[Pattern]:
    if isinstance(part, Or):
        for branch in part.parts:
            yield from _branches(branch)
    else:
        yield part


def _cases(inner: And) -> Iterator[Pattern]:
    for part in inner.parts:
        negated = constrained(part, conjoin(own_conditions(inner, part)))
        assert negated is not None, "a part that is not optional can take conditions"
        yield Not(negated, span=part.span)
