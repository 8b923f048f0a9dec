"""What each element of a list must be equal to."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import At, Attribute, Expr, Index, Inner, Variable
from neelc.ir.names import same
from neelc.ir.node import Node, transform
from neelc.rewrite.consequences import Known
from neelc.rewrite.equalities import Equality
from neelc.rewrite.roles import CURRENT, Role, plain


def element_of(role: Role, key: tuple[Expr, ...], known: Known, timed: bool) -> Expr | None:
    """A term of the events of a list that equals those in `key` on each of them; it is written as if the
    list's variable stood for one event.

    Either each element is compared with a key, `b[i].id = a.id`, or all elements are compared with each other
    and one of them with a key: `b[i].id = b[i-1].id AND b[1].id = a.id`; or an `[id]` says it.
    """
    order = known.roles.order
    mine = {role.variable}
    for equal in known.each:
        before = not timed or all(order[name] < order[role.variable] for name in names_in(equal.right))
        if names_in(equal.left) == mine and plain(equal.right) in key and before:
            return _as_single(equal.left, CURRENT)
    for name, variables in known.same:
        term = role.attribute(name)
        if term and role.variable in variables and any(concerns(name, variables, other) for other in key):
            return _as_single(term, CURRENT)
    for chained in known.chains:
        if names_in(chained) == mine and any(plain(_at(chained, place)) in key for place in _ends(timed)):
            return _as_single(chained, CURRENT)
    return None


def _ends(timed: bool) -> tuple[Index, ...]:
    """Elements that stand for all, where each equals the one before: the last is known last."""
    return (Index("FIRST"),) if timed else (Index("FIRST"), Index("LAST"))


def concerns(name: str, variables: frozenset[str], term: Expr) -> bool:
    """Whether a term is that attribute of one of the variables."""
    match term:
        case Attribute(Variable(variable), also):
            return variable in variables and same(name, also)
    return False


def _at(term: Expr, place: Index) -> Expr:
    """A term of `b[i]` as one of another element."""

    def change(node: Node) -> Node | None:
        return replace(node, index=place) if isinstance(node, At) and node.index == CURRENT else None

    changed = transform(term, change)
    assert isinstance(changed, Expr)
    return changed


def _as_single(term: Expr, place: Index) -> Expr:
    """A term of `b[i]` as one of an event `b`."""

    def change(node: Node) -> Node | None:
        return node.base if isinstance(node, At) and node.index == place else None

    changed = transform(plain(term), change)
    assert isinstance(changed, Expr)
    return changed


def inside_closure(known: Known, closure: str, timed: bool = False) -> Known:
    """What is known in an iteration of the closure of a composite: `k[i].a.id = z.id` is `a.id = z.id` there,
    and `k[i].a.id = k[i-1].a.id` is `a.id = k[1].a.id`.

    >>> from neelc.rewrite.examples import query
    >>> from neelc.rewrite.roles import Roles
    >>> found = query("SEQ(Z z, SEQ(A a, B b)+ k[]) WHERE k[i].a.id = z.id")
    >>> known = inside_closure(Known(Roles(found)).and_of(found.pattern), "k")
    >>> print(*(equal.condition() for equal in known.equal))
    a.id = z.id
    """

    def change(node: Node) -> Node | None:
        match node:
            case Inner(At(Variable(name), index), inner) if name == closure and index == CURRENT:
                return Variable(inner)
        return None

    chained = (Equality(term, _at(term, place)) for term in known.chains for place in _ends(timed))
    found: list[Equality] = []
    for equal in (*known.each, *chained):
        term = transform(equal.left, change)
        if isinstance(term, Expr) and term is not equal.left and closure not in names_in(term):
            found.append(Equality(term, equal.right))
    return replace(known, equal=(*known.equal, *found))
