"""Conditions as lists of conjuncts, and the variables they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neelc.ir.expressions import Conjunction, Expr, SameAttributes, Variable
from neelc.ir.node import Node, remembered, walk


def conjuncts(where: Expr | None) -> tuple[Expr, ...]:
    """The conjuncts of a condition, in order.

    >>> from neelc.syntax import expression
    >>> [str(conjunct) for conjunct in conjuncts(expression("a.x > 1 AND (b.x > 2 AND c.x > 3)"))]
    ['a.x > 1', 'b.x > 2', 'c.x > 3']
    """
    return tuple(_conjuncts(where))


def _conjuncts(where: Expr | None) -> Iterator[Expr]:
    match where:
        case None:
            return
        case Conjunction(operands):
            for operand in operands:
                yield from _conjuncts(operand)
        case _:
            yield where


def conjoin(conditions: Iterable[Expr | None]) -> Expr | None:
    """All of these conditions as one, each conjunct once; None when there are none.

    >>> from neelc.syntax import expression
    >>> print(conjoin([expression("a.x > 1 AND b.x > 2"), None, expression("a.x > 1")]))
    a.x > 1 AND b.x > 2
    """
    found = tuple(dict.fromkeys(conjunct for where in conditions for conjunct in conjuncts(where)))
    return found[0] if len(found) == 1 else Conjunction(found) if found else None


def names_in(node: Node | None) -> frozenset[str]:
    """The variables an expression names."""
    return frozenset() if node is None else _names_in(node)


@remembered
def _names_in(node: Node) -> frozenset[str]:
    return frozenset(found.name for found in walk(node) if isinstance(found, Variable))


def has_same(where: Expr | None) -> bool:
    """Whether one of the conjuncts is an `[id]`: it speaks of all events of the part it stands at."""
    return any(isinstance(conjunct, SameAttributes) for conjunct in conjuncts(where))


# Conditions as lists of conjuncts.


def flat_conjuncts(condition: Expr | None) -> Iterator[Expr]:
    """What must hold for `condition` to hold, one by one.

    >>> from neelc.syntax import expression
    >>> [str(c) for c in conjuncts(expression("a.x = 1 AND (b.x = 2 AND c.x = 3) AND (d.x = 4 OR d.x = 5)"))]
    ['a.x = 1', 'b.x = 2', 'c.x = 3', 'd.x = 4 OR d.x = 5']
    """
    if isinstance(condition, Conjunction):
        for operand in condition.operands:
            yield from flat_conjuncts(operand)
    elif condition is not None:
        yield condition


def all_of(conditions: Iterable[Expr | None]) -> Expr | None:
    """One condition that holds when all of them do; None for none. The inverse of `conjuncts`."""
    every = tuple(conjunct for condition in conditions for conjunct in flat_conjuncts(condition))
    if len(every) < 2:
        return every[0] if every else None
    spans = [conjunct.span for conjunct in every if conjunct.span is not None]
    span = spans[0] | spans[-1] if spans else None
    return Conjunction(every, span=span)
