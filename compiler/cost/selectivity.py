"""How often a condition is TRUE.

Best is what somebody says about the condition (WITH STATS, a file). Else it follows from distinct values,
NULLs and bounds of the attributes, and otherwise from an assumption with its reason, which explain shows.
Values are taken to be spread evenly and attributes to be independent of each other, as in System R.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from neelc.cost.comparison import compared
from neelc.cost.facts import Fact
from neelc.cost.ledger import Ledger, term_of
from neelc.cost.statistics import Statistics
from neelc.cost.truth import ALWAYS, Truth, without_casts
from neelc.ir import expr as e
from neelc.ir.logical import Match

BETWEEN = 0.25
"""System R's: two open ranges of a third each would be a ninth, but the two ends are seldom independent."""
BEGINS_WITH = 0.05
"""LIKE 'abc%': a few initial letters leave few of many words."""
CONTAINS = 0.1
"""LIKE '%abc%' and regular expressions: less than a beginning says, as there are many places to find it."""
OTHER = 1 / 3
"""Calls, CASE and what else is BOOLEAN: System R's number for what nobody can guess."""
BOOLEAN = 0.5
"""A BOOLEAN attribute has two values."""


@dataclass(frozen=True)
class Selectivity:
    """The probability that a condition is TRUE, and what it rests on."""

    value: float
    facts: tuple[Fact, ...]


def selectivity(condition: e.Expr, query: Match, statistics: Statistics) -> Selectivity:
    """
    >>> from neelc.rewrite.examples import query
    >>> def share(text):
    ...     match = query(f"SEQ(A a, B b) WHERE {text}")
    ...     return round(selectivity(match.pattern.where, match, Statistics()).value, 6)
    >>> share("a.id = 7"), share("a.id = b.id"), share("a.id IN (1, 2, 3)"), share("a.id = 7 OR b.id = 7")
    (0.001, 0.001, 0.003, 0.001999)
    >>> share("a.x < 5"), share("a.x < b.x"), share("NOT a.x < 5"), share("a.x < 5 AND b.id = 3")
    (0.333333, 0.49995, 0.666667, 0.000333)
    >>> share("a.user LIKE 'u%'"), share("a.user LIKE 'u'"), share("a.user IS NULL"), share("[id]")
    (0.05, 0.001, 0.0, 0.001)

    `[id]` asks that all events concerned agree: for two events, one in as many as there are ids.
    """
    ledger = Ledger(query, statistics)
    return Selectivity(truth(condition, ledger).true, ledger.facts)


def truth(condition: e.Expr, ledger: Ledger) -> Truth:
    """How often a condition is TRUE and FALSE."""
    declared = ledger.declared(condition)
    return _derived(condition, ledger) if declared is None else Truth(declared, 1 - declared)


def _derived(condition: e.Expr, ledger: Ledger) -> Truth:
    match condition:
        case e.Literal(value):
            return Truth(float(value is True), float(value is False))
        case e.Conjunction(operands):
            return _all([truth(operand, ledger) for operand in operands])
        case e.Disjunction(operands):
            return ~_all([~truth(operand, ledger) for operand in operands])
        case e.Negation(operand):
            return ~truth(operand, ledger)
        case e.Binary(op, left, right) if op in e.COMPARISONS:
            return compared(op, left, right, ledger)
        case e.IsDistinct(left, right, negated):
            same = compared("<=>", left, right, ledger)
            return same if negated else ~same
        case e.Between(operand, low, high, negated):
            return _turned(_between(operand, low, high, ledger), negated)
        case e.InList(operand, items, negated):
            return _turned(_in_list(operand, items, ledger), negated)
        case e.Like(negated=negated):
            return _turned(_like(condition, ledger), negated)
        case e.IsNull(operand, negated):
            share = _nulls(operand, ledger)
            return _turned(Truth(share, 1 - share), negated)
        case e.IsTruth(operand, value, negated):
            found = truth(operand, ledger)
            share = found.unknown if value is None else found.true if value else found.false
            return _turned(Truth(share, 1 - share), negated)
        case e.Same(attributes):
            return _same(attributes, ledger)
    share = BOOLEAN if isinstance(condition, e.Attribute) else OTHER
    return Truth.of(ledger.assume(f"selectivity of {condition}", share))


def _all(found: list[Truth]) -> Truth:
    """All hold; one is FALSE. Operands are taken to be independent."""
    return Truth(prod(one.true for one in found), 1 - prod(1 - one.false for one in found))


def _turned(found: Truth, negated: bool) -> Truth:
    return ~found if negated else found


def _between(operand: e.Expr, low: e.Expr, high: e.Expr, ledger: Ledger) -> Truth:
    """With known bounds, what is not below `low` and not above `high`; these exclude each other."""
    inner = without_casts(operand)
    if not isinstance(inner, e.Attribute) or ledger.bounds(*term_of(inner)) is None:
        share = ledger.assume(f"selectivity of {operand} BETWEEN {low} AND {high}", BETWEEN)
        return Truth.of(share, _nulls(operand, ledger))
    below, above = compared("<", operand, low, ledger), compared(">", operand, high, ledger)
    outside = min(below.true + above.true, 1 - below.unknown)
    return Truth(max(0.0, 1 - below.unknown - outside), outside)


def _in_list(operand: e.Expr, items: tuple[e.Expr, ...], ledger: Ledger) -> Truth:
    """Different items exclude each other, so their shares add up."""
    found = [compared("=", operand, item, ledger) for item in dict.fromkeys(items)]
    known = 1 - max((one.unknown for one in found), default=0.0)
    share = min(known, sum(one.true for one in found))
    return Truth(share, known - share)


def _like(condition: e.Like, ledger: Ledger) -> Truth:
    pattern = without_casts(condition.pattern)
    text = pattern.value if isinstance(pattern, e.Literal) and isinstance(pattern.value, str) else "%"
    if condition.kind != "RLIKE" and not set(text) & set("%_"):
        return compared("=", condition.operand, condition.pattern, ledger)
    share = CONTAINS if condition.kind == "RLIKE" or text[:1] in ("%", "_") else BEGINS_WITH
    return Truth.of(ledger.assume(f"selectivity of {condition}", share), _nulls(condition.operand, ledger))


def _nulls(operand: e.Expr, ledger: Ledger) -> float:
    inner = without_casts(operand)
    return ledger.nulls(*term_of(inner)) if isinstance(inner, e.Attribute) else 0.0


def _same(attributes: tuple[str, ...], ledger: Ledger) -> Truth:
    """As if it concerned two events; how many there really are, the growth of matches knows better."""
    variables = tuple(ledger.types)[:2]
    if len(variables) < 2:
        return ALWAYS
    return Truth.of(prod(1 / max(ledger.distinct(v, name) for v in variables) for name in attributes))
