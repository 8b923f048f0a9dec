"""Conditions as lists of conjuncts, and the variables they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neelc.ir.expr import Conjunction, Expr, Same, Variable
from neelc.ir.node import Node, remembered, walk


def conjuncts(where: Expr | None) -> tuple[Expr, ...]:
    """The conjuncts of a condition, in order.

    >>> from neelc.parse import expression
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

    >>> from neelc.parse import expression
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
    return any(isinstance(conjunct, Same) for conjunct in conjuncts(where))
