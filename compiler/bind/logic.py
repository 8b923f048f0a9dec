"""Conditions as lists of conjuncts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neelc.ir.expr import Conjunction, Expr


def conjuncts(condition: Expr | None) -> Iterator[Expr]:
    """What must hold for `condition` to hold, one by one.

    >>> from neelc.parse import expression
    >>> [str(c) for c in conjuncts(expression("a.x = 1 AND (b.x = 2 AND c.x = 3) AND (d.x = 4 OR d.x = 5)"))]
    ['a.x = 1', 'b.x = 2', 'c.x = 3', 'd.x = 4 OR d.x = 5']
    """
    if isinstance(condition, Conjunction):
        for operand in condition.operands:
            yield from conjuncts(operand)
    elif condition is not None:
        yield condition


def conjoin(conditions: Iterable[Expr | None]) -> Expr | None:
    """One condition that holds when all of them do; None for none. The inverse of `conjuncts`."""
    every = tuple(conjunct for condition in conditions for conjunct in conjuncts(condition))
    if len(every) < 2:
        return every[0] if every else None
    spans = [conjunct.span for conjunct in every if conjunct.span is not None]
    span = spans[0] | spans[-1] if spans else None
    return Conjunction(every, span=span)
