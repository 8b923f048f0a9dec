"""The rule `decorrelate_negation`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, names_in
from neelc.ir.patterns import targets
from neelc.pattern.analysis.equalities import Equality, classes, equalities, equality
from neelc.pattern.analysis.regions import QueryFacts, RegionPart, filtered, region_conjuncts, with_condition


def decorrelate_negation(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """In a negation, an equality between two of its events becomes two with the same value outside.

    So each negated event is compared with the match alone, and no condition ties them together: what
    `push_negation_into_sequence` requires. NEEL's example 11 in the form with chained predicates:

    >>> from pattern_examples import after
    >>> chain = "s.id = d.id AND d.id = c.id AND c.id = o.id"
    >>> print(after(decorrelate_negation, f"SEQ(W w, !SEQ(S s, D d, C c WHERE {chain}), O o)"))
    SEQ(W w, !SEQ(S s, D d, C c WHERE c.id = o.id AND s.id = o.id AND d.id = o.id), O o)

    Proof. The equalities of the region of the negated part tie terms together to classes. Take a class with a
    term o whose value is fixed when the negation is checked: one on a variable of the match, or a constant.
    If all equalities are TRUE, all terms of the class have the value of o, which is not NULL, so every new
    equality, one of a negated term with o, is TRUE. Conversely, if every negated term of the class is equal
    to o then they are equal to each other, so every equality that was taken away is TRUE. So the negated part
    has the same bindings as before, also where some value is NULL, or the variable of o is: then neither form
    is TRUE.

    Not without such a term; nor through a condition on every element of a list, which says nothing if the
    list is empty, or one in a branch of an OR or another part that need not be there:

    >>> after(decorrelate_negation, "SEQ(A a, !SEQ(B b, C c WHERE b.id = c.id), D d)")
    >>> list = "b.id = c.id AND x[i].id = c.id AND x[i].id = a.id"
    >>> after(decorrelate_negation, f"SEQ(A a, !SEQ(B b, X* x[], C c WHERE {list}), D d)")
    >>> branch = "OR((X x : c.id = a.id), Y y)"
    >>> after(decorrelate_negation, f"SEQ(A a, !SEQ(B b, C c, {branch} WHERE b.id = c.id), D d)")
    """
    if not isinstance(part, p.Not):
        return None
    own = frozenset(targets(part.part))
    known = tuple(equalities(region_conjuncts(part.part)))
    fixed = {term: anchor for group in classes(known) if (anchor := _anchor(group, own)) for term in group}
    ties = {equal for equal in known if _ties(equal, own) and equal.left in fixed}
    if not ties:
        return None

    def stays(conjunct: Expr, spot: RegionPart) -> bool:
        return equality(conjunct) not in ties

    loose = dict.fromkeys(side for equal in known if equal in ties for side in equal.sides)
    new = [Equality(term, fixed[term]).condition() for term in loose]
    return replace(part, part=with_condition(filtered(part.part, stays), *new))


def _anchor(group: tuple[Expr, ...], own: frozenset[str]) -> Expr | None:
    """A term of a class whose value does not depend on the negated events; a constant if there is one."""
    anchors = [term for term in group if not names_in(term) & own]
    return min(anchors, key=lambda term: len(names_in(term)), default=None)


def _ties(equal: Equality, own: frozenset[str]) -> bool:
    left, right = names_in(equal.left) & own, names_in(equal.right) & own
    return bool(left and right) and left != right
