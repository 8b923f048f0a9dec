"""The rule `lift_condition`."""

from __future__ import annotations

from neelc.ir.expressions import Expr, SameAttributes, names_in
from neelc.ir.patterns import Joint, Pattern, targets
from neelc.pattern.analysis.regions import QueryFacts, RegionPart, filtered, is_timed, with_condition


def lift_condition(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """A condition on a part that names other parts too stands at the list that binds them all.

    NEEL+, 4.1 (predicate relocation): there a condition waits at the component that is reached last; here it
    stands at the innermost list that binds what it names, and whatever executes the list checks it as soon as
    it can.

    >>> from pattern_examples import after
    >>> print(after(lift_condition, "SEQ(R r, W w, SEQ(S s, D d), (O o : o.id = d.id))"))
    SEQ(R r, W w, SEQ(S s, D d), O o WHERE o.id = d.id)

    Proof. Both parts are in one region (see `regions.py`): each is evaluated exactly when the region is, on
    the same binding, so the condition is TRUE at both or at neither. The body of an EXISTS is evaluated on a
    binding that holds the dropped variables too; a condition that names none of them can be taken out, as
    "there is an x such that p and q(x)" is "p, and there is an x such that q(x)".

    >>> print(after(lift_condition, "SEQ(A a, EXISTS b : SEQ((B b : b.x > a.x), (C c : c.id = a.id)))"))
    SEQ(A a, EXISTS b : SEQ((B b : b.x > a.x), C c) WHERE c.id = a.id)

    Not out of a branch of an OR, a negation, or the body of an optional part or a repetition, where it is
    checked only if the branch is taken, says what must not be there, or is checked for each iteration. Nor
    an `[id]`: it concerns the events of its part.

    >>> after(lift_condition, "SEQ(A a, OR((B b : b.x > a.x), C c), ((D d : d.x > a.x))?)")
    >>> after(lift_condition, "SEQ(A a, !(B b : b.x > a.x), SEQ((C c : c.x > a.x), D d)+ k[], E e)")
    >>> after(lift_condition, "SEQ(A a, SEQ(B b, C c WHERE [id]))")

    Under SKIP TILL NEXT MATCH it matters when a condition is checked: the condition of a component is not
    checked before the run gets there. At its list it would be checked when the last of its variables is
    bound. That is the same time only if it names a variable of its own component.

    >>> after(lift_condition, "SEQ(A a, B b, (C c : b.x > a.x)) USING SKIP TILL NEXT MATCH")
    """
    if not isinstance(part, Joint):
        return None
    bound = frozenset(targets(part))
    lifted: list[Expr] = []

    def stays(conjunct: Expr, spot: RegionPart) -> bool:
        own = frozenset(targets(spot.part))
        names = names_in(conjunct)
        if isinstance(conjunct, SameAttributes) or not spot.sees(conjunct) or names & bound <= own:
            return True
        if not names & own and is_timed(part, facts):
            return True
        lifted.append(conjunct)
        return False

    changed = filtered(part, stays)
    return with_condition(changed, *lifted) if lifted else None
