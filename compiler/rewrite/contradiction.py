"""Whether conditions can be TRUE together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from neelc.ir import expr as e
from neelc.ir.node import Node
from neelc.rewrite.claims import AtMost, Claim, Differ, Either, Null, Present, claims
from neelc.rewrite.constants import is_constant, value_of
from neelc.rewrite.order_of_values import is_impossible_order

MAX_CASES = 256
"""How many combinations of alternatives (of OR, of IN) are looked at. Beyond, nothing is found."""


def contradict(
    conditions: Iterable[e.Expr], known: Iterable[Claim] = (), order: Iterable[AtMost] = ()
) -> bool:
    """Whether the conditions are never TRUE together, given what is known. False when that is not clear.

    `order` holds where both sides are not NULL, and does not say that they are not.

    >>> from neelc.rewrite.examples import query
    >>> def never(text): return contradict([query(f"SEQ(A a, B b) WHERE {text}").pattern.where])
    >>> never("a.x > 5 AND a.x < 3"), never("a.x > 5 AND a.x < 7")
    (True, False)
    >>> never("a.x < b.x AND b.x < a.n AND a.n < a.x"), never("a.n IN (1, 2) AND a.n NOT IN (1, 2)")
    (True, True)
    >>> never("a.n > 1 AND a.n < 2"), never("a.x > 1 AND a.x < 2"), never("a.x IS NULL AND a.x + 1 > b.x")
    (True, False, True)
    """
    found = (*known, *(claim for condition in conditions for claim in claims(condition)))
    return _fail(found, tuple(order), iter(range(MAX_CASES)))


def _fail(found: tuple[Claim, ...], order: tuple[AtMost, ...], budget: Iterator[int]) -> bool:
    """Whether the claims fail, whichever alternative is taken of each `Either`."""
    if next(budget, None) is None:
        return False
    choices = [claim for claim in found if isinstance(claim, Either)]
    facts = tuple(claim for claim in found if not isinstance(claim, Either))
    if _clash(facts, order):
        return True
    if not choices:
        return False
    first, *rest = sorted(choices, key=lambda choice: len(choice.conditions))
    if len(first.conditions) > MAX_CASES:
        return False
    return all(_fail((*facts, *rest, *claims(choice)), order, budget) for choice in first.conditions)


def _clash(facts: Sequence[Claim], order: Sequence[AtMost]) -> bool:
    """Whether something is NULL and is not, or values cannot be in the order they must be in."""
    present = frozenset(_present(facts))
    if any(isinstance(fact, Null) and _is_refuted(fact.term, present) for fact in facts):
        return True
    if any(isinstance(term, e.Expr) and is_constant(term) and value_of(term) is None for term in present):
        return True
    ascending = [*order, *(fact for fact in facts if isinstance(fact, AtMost))]
    return is_impossible_order(ascending, [fact for fact in facts if isinstance(fact, Differ)])


def _present(facts: Iterable[Claim]) -> Iterator[Node]:
    """The terms, and the events, that are not NULL where the facts hold."""
    for fact in facts:
        match fact:
            case AtMost(left, right) | Differ(left, right):
                yield from (*_needed(left), *_needed(right))
            case Present(term):
                yield from _needed(term)


def _needed(term: e.Expr) -> Iterator[Node]:
    """What is not NULL when the term is not."""
    yield term
    match term:
        case e.Attribute(event) | e.EventTime(event):
            yield event
        case e.Unary(_, operand) | e.Cast(operand):
            yield from _needed(operand)
        case e.Like(left, right):
            yield from (*_needed(left), *_needed(right))
        case e.Binary(op, left, right) if op != "<=>":
            yield from (*_needed(left), *_needed(right))


def _is_refuted(term: e.Expr, present: frozenset[Node]) -> bool:
    """Whether the term is known not to be NULL."""
    if isinstance(term, e.Whole) and term.event in present:
        return True
    return term in present or (is_constant(term) and value_of(term) is not None)
