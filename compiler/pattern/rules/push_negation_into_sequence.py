"""The rule `push_negation_into_sequence`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from neelc.ir import patterns as p
from neelc.ir.expressions import conjoin
from neelc.ir.patterns import renamed
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import (
    constrained,
    each_choice,
    loose_same,
    obstacle_to_sequence,
    own_conditions,
    too_many_cases,
)
from neelc.pattern.rules.rule import RefusalReason


def push_negation_into_sequence(part: p.Pattern, facts: QueryFacts) -> p.Pattern | RefusalReason | None:
    """No B, C in order: there is no C; or there is a C, and before the latest one there is no B.

    NEEL's table IV, made sound. There the second case reads "there is a C with no B before it", which also
    holds where a later C does have a B before it: in a c b c' d the first c has none, and a, d would be
    a match of SEQ(A a, !SEQ(B b, C c), D d) although b c' lies between. So the existential takes the
    latest candidate, which the language can say itself: `C c, !C c_2` is a C with no other C after it.

    >>> from pattern_examples import LASTING, after
    >>> print(after(push_negation_into_sequence, "SEQ(A a, !SEQ(B b, C c), D d)"))
    OR(SEQ(A a, !C c, D d), SEQ(A a, EXISTS c : SEQ(!B b, C c, !C c_2), D d))

    Proof. Let the scope be fixed and q1 .. qn be the negated components, all but q1 point events. Choose
    from the right: tn is the latest qn in the scope, and t(k) the latest q(k) before t(k+1), for k > 1. By
    induction from the right, t(k) is at least as late as the k-th event of any occurrence s1 < .. < sn in
    the scope: s(k) < s(k+1) <= t(k+1), so s(k) is a candidate, and t(k) is the latest candidate. So s1 too
    lies before t2. Hence there is an occurrence exactly if the choice succeeds down to t2 and there is a q1
    before it; and if not, it fails at exactly one k: t(k+1) .. tn exist and there is no q(k) before t(k+1).
    That is the k-th case. Of several latest candidates, all simultaneous, any will do. The chosen events are
    dropped again by EXISTS, which takes no room in the list, so the scopes of other negations stay as they
    were. The first component may be any part that must be there and that what follows cannot undo:

    >>> print(after(push_negation_into_sequence, "SEQ(A a, !SEQ(AND(B b, E e), C c), D d)"))
    OR(SEQ(A a, !C c, D d), SEQ(A a, EXISTS c : SEQ(!AND(B b, E e), C c, !C c_2), D d))
    >>> print(after(push_negation_into_sequence, "SEQ(A a, !SEQ(SEQ(B b, !E e) WITHIN 5, C c), D d)"))
    refused: whether SEQ(B b, !E e) WITHIN 5 MILLISECONDS occurs depends on what comes after it

    The argument needs that whether an event is a candidate does not depend on the other candidates. So not
    with a condition, an `[id]`, a window or a negation that ties the negated events to each other:

    >>> print(after(push_negation_into_sequence, "SEQ(A a, !SEQ(B b, C c WHERE b.id = c.id), D d)"))
    refused: b.id = c.id ties the negated events together
    >>> print(after(push_negation_into_sequence, "SEQ(A a, !(SEQ(B b, C c) WITHIN 5), D d)"))
    refused: its window ties the negated events together

    Conditions that compare a negated event with the match are no obstacle, and an `[id]` around all of it is
    of that kind, if the match has an event there. Events that last would need the latest start, which
    `!C c_2` does not require:

    >>> print(after(push_negation_into_sequence, "SEQ(A a, SEQ(B? b, !SEQ(C c, D d), E? e WHERE [id]), F f)"))
    refused: an [id] ties the negated events together where the part around them binds none
    >>> print(after(push_negation_into_sequence, "SEQ(A a, !SEQ(B b, C c), D d)", LASTING))
    refused: C events may last, and the latest to end need not be the latest to start

    Under a strategy other than SKIP TILL ANY MATCH there is no EXISTS. Each negation multiplies the branches,
    so none is pushed when there would be more than MAX_BRANCHES in the end.

    >>> text = ", ".join(f"A a{n}, !SEQ(B b{n}, C c{n})" for n in range(9))
    >>> print(after(push_negation_into_sequence, f"SEQ({text}, D d)"))
    refused: it would have 512 branches, and the limit MAX_BRANCHES is 256
    """
    return _pushed(part, facts) if isinstance(part, p.Seq | p.And) else None


def _pushed(part: p.Seq | p.And, facts: QueryFacts) -> p.Pattern | RefusalReason | None:
    """One branch for each way in which all negated SEQs of the list can fail to occur."""
    refused = None
    taken: set[str] = set()
    choices: list[list[p.Pattern]] = []
    for negative in part.parts:
        choices.append([negative])
        match negative:
            case p.Not(p.Seq(parts) as inner) if len(parts) > 1:
                reason = obstacle_to_sequence(inner, facts) or loose_same(part, facts)
                if reason := reason or too_many_cases(part, facts):
                    refused = RefusalReason(reason, negative)
                else:
                    choices[-1] = list(_cases(inner, facts, taken))
    return each_choice(part, choices) if any(len(cases) > 1 for cases in choices) else refused


def _cases(inner: p.Seq, facts: QueryFacts, taken: set[str]) -> Iterator[p.Pattern]:
    """How a negated SEQ can fail to occur: the case k is that the k-th component is missing. New names are
    put into `taken`."""
    later: list[p.Pattern] = []
    dropped: list[str] = []
    for event in map(_with_conditions, reversed(inner.parts), repeat(inner)):
        missing = p.Not(event)
        yield p.Exists(tuple(dropped), p.Seq((missing, *later))) if later else missing
        if isinstance(event, p.Event):
            name = event.variable or event.type
            another = facts.fresh(name, taken)
            taken.add(another)
            later = [event, p.Not(renamed(event, {name: another})), *later]
            dropped = [name, *dropped]


def _with_conditions(part: p.Pattern, inner: p.Seq) -> p.Pattern:
    negated = constrained(part, conjoin(own_conditions(inner, part)))
    assert negated is not None, "a part that is not optional can take conditions"
    return negated
