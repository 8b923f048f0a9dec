"""The rule `prune_disjunction`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, conjoin, conjuncts, names_in
from neelc.ir.patterns import targets
from neelc.pattern.analysis.absent import conjunct_without
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import replaced
from neelc.scalar.evaluate_constants import TRUE


def prune_disjunction(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """A condition on variables of an OR is checked in its branches, where the others' variables are NULL.

    A condition on the OR, or on a list around it in the same region, is evaluated on the binding of one
    branch, and there the variables that the branch lacks are NULL. So each branch can take what is left of
    the condition. A branch where only NULL is left is impossible, and others may gain an equality to find
    their events by.

    >>> from pattern_examples import after
    >>> print(after(prune_disjunction, "OR(A a, B b) WHERE a.x > 1"))
    OR((A a : a.x > 1), (B b : NULL))
    >>> print(after(prune_disjunction, "SEQ(OR(A a, B b), C c) WHERE a.id = c.id OR b.id = c.id"))
    SEQ(OR((A a : a.id = c.id OR NULL = c.id), (B b : NULL = c.id OR b.id = c.id)), C c)
    >>> print(after(prune_disjunction, "OR(A a, B+ b[]) WHERE b[i].x > 1"))
    OR(A a, (B+ b[] : b[i].x > 1))

    A condition on variables of all branches, or of none, stays in its place, and so does an `[id]`. Not into
    an optional branch, whose condition is not checked when it is absent; and not a condition in which NULL
    cannot take the place of a variable.

    >>> after(prune_disjunction, "SEQ(OR(A a, B? b), C c) WHERE a.x > 1 AND c.x > 1 AND [id]")
    """
    if part.where is None or not isinstance(part, p.Listing):
        return None
    for disjunction in _disjunctions(part):
        pruned = {conjunct: _in_branches(conjunct, disjunction) for conjunct in conjuncts(part.where)}
        moved = [branches for branches in pruned.values() if branches is not None]
        if moved:
            rest = conjoin(conjunct for conjunct, branches in pruned.items() if branches is None)
            wheres = ([each[place] for each in moved] for place in count())
            branches = tuple(map(_with_conditions, disjunction.parts, wheres))
            inside = replace(disjunction, parts=branches)
            if disjunction is part:
                return replace(inside, where=rest)
            return replace(replaced(part, disjunction, inside), where=rest)
    return None


def _disjunctions(part: p.Pattern) -> Iterator[p.Or]:
    """The ORs in the region of a part, itself included; not in an EXISTS."""
    if isinstance(part, p.Or):
        yield part
    elif isinstance(part, p.Joint):
        for inner in part.parts:
            yield from _disjunctions(inner)


def _with_conditions(part: p.Pattern, conditions: Iterable[Expr]) -> p.Pattern:
    return replace(part, where=conjoin([part.where, *(c for c in conditions if c != TRUE)]))


def _in_branches(conjunct: Expr, disjunction: p.Or) -> list[Expr] | None:
    """The conjunct as each branch sees it; None if all see the same or it must not move there."""
    named = names_in(conjunct) & frozenset(targets(disjunction))
    absent = [named.difference(targets(branch)) for branch in disjunction.parts]
    if not any(absent):
        return None
    without = {names: conjunct_without(conjunct, names) if names else conjunct for names in set(absent)}
    pruned = [without[names] for names in absent]
    pairs = zip(disjunction.parts, pruned, strict=True)
    if any(new is None or (isinstance(branch, p.Optional) and new != TRUE) for branch, new in pairs):
        return None
    return [new for new in pruned if new is not None]
