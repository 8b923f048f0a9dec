"""What the rest of a pattern says about the elements of its lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts
from neelc.ir.node import walk
from neelc.ir.parts import inner_parts
from neelc.plan.consistency_shape import Shape, shapes
from neelc.plan.consistency_values import number, over_list, uncast

STRICT = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Known:
    """`filled` are lists that have an element wherever they are bound at all. `solid` is what is not NULL for
    any element, `positive` what is not negative, each written with `b[]`."""

    filled: frozenset[str] = frozenset()
    solid: frozenset[e.Expr] = frozenset()
    positive: frozenset[e.Expr] = frozenset()

    def __and__(self, other: Known) -> Known:
        return Known(self.filled & other.filled, self.solid & other.solid, self.positive & other.positive)

    def __or__(self, other: Known) -> Known:
        return Known(self.filled | other.filled, self.solid | other.solid, self.positive | other.positive)


def knowledge(pattern: p.Pattern) -> Known:
    """What the conditions on single elements, `b[i].x > 5`, and the operators say about the lists.

    These conditions are judged first, for each event alone: no list has an element for which one fails.

    >>> from neelc.rewrite.examples import query
    >>> found = knowledge(query("SEQ(A a, B+ b[], C* c[]) WHERE b[i].x >= 5 AND c[i].n < a.n").pattern)
    >>> sorted(found.filled), sorted(map(str, found.solid)), sorted(map(str, found.positive))
    (['b'], ['b[].x', 'c[].n'], ['b[].x'])
    """
    found: dict[str, Known] = {}
    for name, known in _lists(pattern, ()):
        # Branches of an OR may share a list: then only what all of them say is known.
        found[name] = found[name] & known if name in found else known
    whole = Known()
    for known in found.values():
        whole |= known
    return whole


def _lists(part: p.Pattern, around: tuple[e.Expr, ...]) -> Iterator[tuple[str, Known]]:
    """Each list with what the conditions on it and around it say of it."""
    around = (*around, *conjuncts(part.where))
    if isinstance(part, p.Repeat) and part.variable is not None:
        known = Known(frozenset([part.variable] if part.least > 0 else []))
        for conjunct in around:
            if shapes(conjunct) == ((part.variable, Shape.ELEMENT),):
                known |= _said(conjunct)
        yield part.variable, known
    for inner in inner_parts(part):
        yield from _lists(inner, around)


def _said(condition: e.Expr) -> Known:
    """What is known of elements for which a condition is TRUE."""
    match condition:
        case e.Binary(op, left, right) if op in STRICT:
            solid = _strict(left, right)
            if op in (">", ">=", "=") and _is_not_negative(right):
                return Known(solid=solid, positive=_uncast(left))
            if op in ("<", "<=", "=") and _is_not_negative(left):
                return Known(solid=solid, positive=_uncast(right))
            return Known(solid=solid)
        case e.Between(operand, low, high, negated=False):
            positive = _uncast(operand) if _is_not_negative(low) else frozenset()
            return Known(solid=_strict(operand, low, high), positive=positive)
        case e.IsNull(operand, negated=True) | e.InList(operand):
            return Known(solid=_strict(operand))
    return Known()


def _is_not_negative(expression: e.Expr) -> bool:
    constant = number(expression)
    return constant is not None and constant >= 0


def _strict(*expressions: e.Expr) -> frozenset[e.Expr]:
    """What cannot be NULL if these expressions are not NULL, as far as it is about an element."""
    found: set[e.Expr] = set()
    for expression in expressions:
        if any(isinstance(node, e.At) for node in walk(expression)):
            found.add(over_list(expression))
        match expression:
            case e.Cast(operand) | e.Unary(_, operand):
                found |= _strict(operand)
            case e.Binary(op, left, right) if op in e.ARITHMETIC:
                found |= _strict(left, right)
    return frozenset(found)


def _uncast(expression: e.Expr) -> frozenset[e.Expr]:
    """The expression itself; a number may be negative where what is computed from it is not."""
    return frozenset([over_list(uncast(expression))])
