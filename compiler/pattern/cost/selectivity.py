"""How often a condition is TRUE.

Best is what somebody says about the condition (WITH STATS, a file). Else it follows from distinct values,
NULLs and bounds of the attributes, and otherwise from an assumption with its reason, which explain shows.
Values are taken to be spread evenly and attributes to be independent of each other, as in System R.
"""

from __future__ import annotations

from decimal import Decimal
from math import prod

from neelc.catalog.statistics.numbers import Fact, Statistics
from neelc.ir import expressions as e
from neelc.ir.expressions import Attribute, Binary, Cast, EventTime, Expr, Literal
from neelc.ir.names import bare
from neelc.ir.program import CompleteColumn, Match
from neelc.pattern.cost.ledger import Ledger, term_of
from neelc.runtime.late_dataclass import dataclass

# Probabilities in three-valued logic.


@dataclass(frozen=True)
class Truth:
    """How often a condition is TRUE and FALSE; what is missing to 1 is UNKNOWN."""

    true: float
    false: float

    @staticmethod
    def of(share: float, unknown: float = 0.0) -> Truth:
        """TRUE for a share of the cases in which it is known."""
        known = 1 - unknown
        return Truth(share * known, (1 - share) * known)

    @property
    def unknown(self) -> float:
        return max(0.0, 1 - self.true - self.false)

    def __invert__(self) -> Truth:
        """NOT.

        >>> ~Truth(0.2, 0.7)
        Truth(true=0.7, false=0.2)
        """
        return Truth(self.false, self.true)


ALWAYS = Truth(1.0, 0.0)


def without_casts(expression: Expr) -> Expr:
    """What a cast is applied to: casts keep the order of values, more or less."""
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression


# How often a comparison is TRUE: from distinct values, NULLs and bounds.

EQUAL = 0.1
"""System R's number for an equality about which nothing is known, such as `f(a.x) = 3`."""
RANGE = 1 / 3
"""System R's number for `<` with a constant and unknown bounds: most queries select the smaller part."""
ORDERED = 0.5
"""`a.x < b.x` of two events: as likely as the other way round."""
RARE = 1e-6
"""The least share of a range. Beyond the known bounds there should be nothing, but statistics grow old."""

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(op: str, left: Expr, right: Expr, ledger: Ledger) -> Truth:
    """How often `left op right` holds.

    >>> from neelc.catalog.statistics.numbers import Statistics
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B b) WHERE a.x < b.x")
    >>> comparison = match.pattern.where
    >>> compared("=", comparison.left, comparison.right, Ledger(match, Statistics())).true  # DOUBLEs
    0.0001
    """
    one, two = without_casts(left), without_casts(right)
    if isinstance(one, Literal) and not isinstance(two, Literal):
        one, two, op = two, one, _MIRRORED.get(op, op)
    unknown = 1 - (1 - _nulls_of(one, ledger)) * (1 - _nulls_of(two, ledger))
    if isinstance(two, Literal) and two.value is None and op != "<=>":
        return Truth(0.0, 0.0)
    if one == two:  # the same value of the same event
        null = _nulls_of(one, ledger)
        return Truth.of(float(op in ("=", "<=", ">=", "<=>")), 0.0 if op == "<=>" else null)
    if op == "<=>":
        both = _nulls_of(one, ledger) * _nulls_of(two, ledger)
        share = (1 - unknown) * _equal(one, two, ledger) + both
        return Truth(share, 1 - share)
    if op in ("=", "<>"):
        equal = Truth.of(_equal(one, two, ledger), unknown)
        return equal if op == "=" else ~equal
    return Truth.of(min(1.0, max(RARE, _less(op, one, two, ledger))), unknown)


def _nulls_of(expression: Expr, ledger: Ledger) -> float:
    return ledger.nulls(*term_of(expression)) if isinstance(expression, Attribute) else 0.0


def _equal(one: Expr, two: Expr, ledger: Ledger) -> float:
    """One in as many as there are values; those of one attribute are among those of the other."""
    if isinstance(one, Literal) and isinstance(two, Literal):
        return float(one.value == two.value)
    if isinstance(one, Attribute) and isinstance(two, Literal) and _is_outside(one, two, ledger):
        return RARE
    terms = [term_of(side) for side in (one, two) if isinstance(side, Attribute)]
    if not terms or not all(isinstance(side, Attribute | Literal) for side in (one, two)):
        return ledger.assume(f"selectivity of {Binary('=', one, two)}", EQUAL)
    return 1 / max(ledger.distinct(*term) for term in terms)


def _is_outside(attribute: Attribute, literal: Literal, ledger: Ledger) -> bool:
    bounds, value = ledger.bounds(*term_of(attribute)), number(literal)
    return bounds is not None and value is not None and not bounds[0] <= value <= bounds[1]


def _less(op: str, one: Expr, two: Expr, ledger: Ledger) -> float:
    """The share of values for which `one op two`, an inequality, holds."""
    bounds = [ledger.bounds(*term_of(side)) for side in (one, two) if isinstance(side, Attribute)]
    match one, two, bounds:
        case Attribute(), Literal(), [(low, high)] if (value := number(two)) is not None:
            below = share_below(value, low, high, _step(one), including=op in ("<=", ">"))
            return below if op in ("<", "<=") else 1 - below
        case Attribute(), Attribute(), [(low, high), (least, greatest)]:
            below = share_less(low, high, least, greatest)
            return _or_equal(op, below if op in ("<", "<=") else 1 - below, one, two, ledger)
    if all(isinstance(side, Attribute | EventTime) for side in (one, two)):
        return _or_equal(op, ORDERED, one, two, ledger)
    return ledger.assume(f"selectivity of {Binary(op, one, two)}", RANGE)


def _or_equal(op: str, share: float, one: Expr, two: Expr, ledger: Ledger) -> float:
    """With few values, equal ones are common: half of them are missing in `<`, half are too many in `<=`."""
    if not (isinstance(one, Attribute) and isinstance(two, Attribute)):
        return share
    equal = _equal(one, two, ledger) * min(share, 1 - share)
    return share + equal if op in ("<=", ">=") else share - equal


def _step(attribute: Attribute) -> float:
    """The distance of two neighbouring values: 1 for whole numbers."""
    return 1.0 if str(attribute.type) in ("TINYINT", "SMALLINT", "INT", "BIGINT") else 0.0


def number(literal: Literal) -> float | None:
    """The value of a numeric constant."""
    value = literal.value
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]


def share_below(value: float, low: float, high: float, step: float, including: bool) -> float:
    """The share of values less than `value`, or equal to it; spread evenly over low..high.

    >>> share_below(25, 0, 100, 0, including=True)
    0.25
    >>> share_below(3, 1, 4, 1, including=False), share_below(3, 1, 4, 1, including=True)
    (0.5, 0.75)
    >>> share_below(-5, 0, 100, 0, True), share_below(7, 7, 7, 0, True), share_below(7, 7, 7, 0, False)
    (0.0, 1.0, 0.0)
    """
    if high + step == low:
        return float(value > low or (including and value == low))
    reached = value - low + (step if including else 0.0)
    return min(1.0, max(0.0, reached / (high + step - low)))


def share_less(low: float, high: float, least: float, greatest: float) -> float:
    """How often X < Y, for X spread evenly over low..high and Y over least..greatest.

    >>> share_less(0, 10, 0, 10), share_less(0, 10, 5, 10), share_less(0, 1, 2, 3), share_less(4, 4, 0, 8)
    (0.5, 0.75, 1.0, 0.5)
    """
    if greatest == least:
        return share_below(least, low, high, 0.0, including=False)

    def area(y: float) -> float:
        """The integral of the share of X below y."""
        if y <= low:
            return 0.0
        return y - (low + high) / 2 if y >= high else (y - low) ** 2 / (2 * (high - low))

    return (area(greatest) - area(least)) / (greatest - least)


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
    >>> from pattern_examples import query
    >>> def share(text):
    ...     match = query(f"SEQ(A a, B b) WHERE {text}")
    ...     return round(selectivity(match.pattern.where, match, Statistics()).value, 6)
    >>> share("a.id = 7"), share("a.id = b.id"), share("a.id IN (1, 2, 3)"), share("a.id = 7 OR b.id = 7")
    (0.001, 0.001, 0.003, 0.001999)
    >>> share("a.x < 5"), share("a.x < b.x"), share("NOT a.x < 5"), share("a.x < 5 AND b.id = 3")
    (0.333333, 0.49995, 0.666667, 0.000333)
    >>> share("a.user LIKE 'u%'"), share("a.user LIKE 'u'"), share("a.user IS NULL"), share("[id]")
    (0.05, 0.001, 0.0, 0.001)

    `[id]` requires that all events concerned agree: for two events, one in as many as there are ids.
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
            inner = truth(operand, ledger)
            share = inner.unknown if value is None else inner.true if value else inner.false
            return _turned(Truth(share, 1 - share), negated)
        case e.SameAttributes(attributes):
            return _same(attributes, ledger)
        case e.Attribute(name=name) if _is_about_the_end(name, ledger):
            return Truth(1.0, 0.0)
    share = BOOLEAN if isinstance(condition, e.Attribute) else OTHER
    return Truth.of(ledger.assume(f"selectivity of {condition}", share))


def _is_about_the_end(name: str, ledger: Ledger) -> bool:
    """Whether an attribute says that the data go on after an event: they do after nearly all."""
    derived = (one for stream in ledger.query.streams for one in stream.derived)
    return any(isinstance(one, CompleteColumn) and one.name == bare(name) for one in derived)


def _all(operands: list[Truth]) -> Truth:
    """All hold; one is FALSE. Operands are taken to be independent."""
    return Truth(prod(one.true for one in operands), 1 - prod(1 - one.false for one in operands))


def _turned(operand: Truth, negated: bool) -> Truth:
    return ~operand if negated else operand


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
    equalities = [compared("=", operand, item, ledger) for item in dict.fromkeys(items)]
    known = 1 - max((one.unknown for one in equalities), default=0.0)
    share = min(known, sum(one.true for one in equalities))
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
