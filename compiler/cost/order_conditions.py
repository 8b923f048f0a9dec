"""Conditions in the order in which they are judged: JEPC's predicate ordering."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from neelc.cost.evaluation import evaluation_cost
from neelc.cost.ledger import Ledger
from neelc.cost.selectivity import truth
from neelc.cost.statistics import Statistics
from neelc.ir.conjuncts import conjoin, conjuncts
from neelc.ir.expr import Expr
from neelc.ir.logical import Match
from neelc.ir.node import Node, transform
from neelc.ir.pattern import Pattern


def order_conditions(query: Match, statistics: Statistics) -> Match:
    """Conjuncts of a condition in ascending order of cost by share of bindings that fail them (JEPC, 19.2.1).

    The meaning stays: a conjunction is TRUE if all its conjuncts are, in any order, and no conjunct can
    raise an error (docs/decisions/0007). Judging stops at the first conjunct that is not TRUE, so for
    independent conjuncts of costs c and selectivities s this order is the cheapest: of two neighbours, the
    first goes first if c1 + s1*c2 <= c2 + s2*c1, and that is c1/(1 - s1) <= c2/(1 - s2). JEPC orders by
    selectivity alone, which is the same for equal costs; a regular expression is not worth trying first,
    though, however selective it is.

    >>> from neelc.rewrite.examples import query
    >>> text = "SEQ(A a, B b) WHERE a.user RLIKE 'x+' AND a.x > b.x AND a.id = b.n"
    >>> print(order_conditions(query(text), Statistics()).pattern)
    SEQ(A a, B b WHERE a.id = b.n AND a.x > b.x AND a.user RLIKE 'x+')

    Conjuncts of equal rank keep their order, and a condition stays at its part: only the order within one
    part changes.

    >>> text = "SEQ((A a : a.x > 1 AND a.n > 2), (B b : b.user LIKE '%u' AND b.id = 7))"
    >>> print(order_conditions(query(text), Statistics()).pattern)
    SEQ((A a : a.x > 1 AND a.n > 2), (B b : b.id = 7 AND b.user LIKE '%u'))
    """
    ledger = Ledger(query, statistics)

    def change(node: Node) -> Node | None:
        if not isinstance(node, Pattern):
            return None
        old = conjuncts(node.where)
        new = tuple(sorted(old, key=lambda conjunct: rank(conjunct, ledger))) if len(old) > 1 else old
        return None if new == old else replace(node, where=conjoin(new))

    pattern = transform(query.pattern, change)
    assert isinstance(pattern, Pattern)
    return query if pattern is query.pattern else replace(query, pattern=pattern)


def rank(condition: Expr, ledger: Ledger) -> float:
    """What it costs to get rid of one binding by this condition."""
    fails = 1 - truth(condition, ledger).true
    return evaluation_cost(condition) / fails if fails > 0 else inf
