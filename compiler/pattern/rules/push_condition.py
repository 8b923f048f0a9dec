"""The rule `push_condition`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, SameAttributes, conjoin, conjuncts, names_in
from neelc.ir.node import remembered
from neelc.ir.patterns import inner_parts, targets
from neelc.pattern.analysis.regions import QueryFacts, is_member, with_condition


def push_condition(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """A condition stands at the innermost part that binds the variables it names.

    NEEL+, 4.1 (predicate push-in), and JEPC's filter push-down (19.2.2): a condition on one event is checked
    when that event is read, and one on some parts of a list before the others are looked for.

    >>> from pattern_examples import after
    >>> print(after(push_condition, "SEQ(A a, B b, AND(C c, D+ d[]) WHERE a.x > 1 AND d[i].x > c.x)"))
    SEQ((A a : a.x > 1), B b, AND(C c, D+ d[] WHERE d[i].x > c.x))

    Variables of the match around a negation do not count: there they are as good as constants.

    >>> print(after(push_condition, "SEQ(A a, !SEQ(B b, C c WHERE b.id = a.id), D d)"))
    SEQ(A a, !SEQ((B b : b.id = a.id), C c), D d)

    Proof. Both parts are in one region (see `regions.py`): each is evaluated exactly when the region is, on
    the same binding. For the body of an EXISTS the binding is wider, but has the same values for what the
    condition names, since it could not name dropped variables where it stood. A condition on an optional
    part is checked when the part is there, as one on its body is.

    >>> print(after(push_condition, "SEQ(A a, EXISTS b : SEQ(B b, C c), (D? d : d.x > 1)) WHERE c.x > 1"))
    SEQ(A a, EXISTS b : SEQ(B b, (C c : c.x > 1)), (D d : d.x > 1)?)

    A condition on a list goes to the repetition and not into it, where it would apply to each iteration:
    `count(b[]) > 1` would have no meaning there. Nor into a branch of an OR or into an optional part: where
    the branch is not taken the condition is evaluated with NULL, and fails.

    >>> print(after(push_condition, "SEQ(A a, B+ b[] WHERE b[i].x > 1 AND count(b[]) > 1)"))
    SEQ(A a, (B+ b[] : b[i].x > 1 AND count(b[]) > 1))
    >>> print(after(push_condition, "SEQ(A a, OR(B b, C c) WHERE b.x > 1)"))
    SEQ(A a, OR(B b, C c WHERE b.x > 1))
    >>> after(push_condition, "SEQ(A a, B? b WHERE b.x > 1)")
    """
    pushed = {c: home for c in conjuncts(part.where) if (home := _home(c, part)) is not None}
    if not pushed:
        return None
    kept = conjoin(c for c in conjuncts(part.where) if c not in pushed)
    received_by: dict[int, list[Expr]] = {}
    for conjunct, home in pushed.items():
        received_by.setdefault(id(home), []).append(conjunct)

    def received(inner: p.Pattern) -> p.Pattern:
        mine = received_by.get(id(inner))
        return with_condition(inner, *mine) if mine else inner

    match part:
        case p.Joint(parts):
            return replace(part, parts=tuple(map(received, parts)), where=kept)
        case p.Exists(part=inner) | p.Optional(part=inner):
            return replace(part, part=received(inner), where=kept)
    return None


def _home(conjunct: Expr, part: p.Pattern) -> p.Pattern | None:
    """The part directly below `part` that binds all variables of `part` that a condition names."""
    if isinstance(conjunct, SameAttributes):
        return None
    if isinstance(part, p.Optional):
        return part.part
    if not isinstance(part, p.Joint | p.Exists):
        return None
    binding = _binding(part)
    names = [name for name in names_in(conjunct) if name in binding]
    homes = binding[names[0]] if names else ()
    return next((one for one in homes if is_member(one) and {*names}.issubset(targets(one))), None)


@remembered
def _binding(part: p.Pattern) -> Mapping[str, Sequence[p.Pattern]]:
    """For each variable of a part the parts directly below it that bind the variable."""
    parts: dict[str, list[p.Pattern]] = {name: [] for name in targets(part)}
    for inner in inner_parts(part):
        for name in targets(inner):
            if name in parts:
                parts[name].append(inner)
    return parts
