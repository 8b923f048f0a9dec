"""How often a comparison is TRUE: from distinct values, NULLs and bounds."""

from __future__ import annotations

from decimal import Decimal

from neelc.cost.ledger import Ledger, term_of
from neelc.cost.truth import Truth, without_casts
from neelc.ir.expr import Attribute, Binary, EventTime, Expr, Literal

EQUAL = 0.1
"""System R's number for an equality about which nothing is known, such as `f(a.x) = 3`."""
RANGE = 1 / 3
"""System R's number for `<` with a constant and unknown bounds: people ask for the smaller part."""
ORDERED = 0.5
"""`a.x < b.x` of two events: as likely as the other way round."""
RARE = 1e-6
"""The least share of a range. Beyond the known bounds there should be nothing, but statistics grow old."""

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(op: str, left: Expr, right: Expr, ledger: Ledger) -> Truth:
    """How often `left op right` holds.

    >>> from neelc.cost.statistics import Statistics
    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, B b) WHERE a.x < b.x")
    >>> comparison = match.pattern.where
    >>> compared("=", comparison.left, comparison.right, Ledger(match, Statistics())).true  # DOUBLEs
    0.0001
    """
    one, two = without_casts(left), without_casts(right)
    if isinstance(one, Literal) and not isinstance(two, Literal):
        one, two, op = two, one, _MIRRORED.get(op, op)
    unknown = 1 - (1 - _nulls(one, ledger)) * (1 - _nulls(two, ledger))
    if isinstance(two, Literal) and two.value is None and op != "<=>":
        return Truth(0.0, 0.0)
    if one == two:  # the same value of the same event
        null = _nulls(one, ledger)
        return Truth.of(float(op in ("=", "<=", ">=", "<=>")), 0.0 if op == "<=>" else null)
    if op == "<=>":
        both = _nulls(one, ledger) * _nulls(two, ledger)
        share = (1 - unknown) * _equal(one, two, ledger) + both
        return Truth(share, 1 - share)
    if op in ("=", "<>"):
        found = Truth.of(_equal(one, two, ledger), unknown)
        return found if op == "=" else ~found
    return Truth.of(min(1.0, max(RARE, _less(op, one, two, ledger))), unknown)


def _nulls(expression: Expr, ledger: Ledger) -> float:
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
    known = [ledger.bounds(*term_of(side)) for side in (one, two) if isinstance(side, Attribute)]
    match one, two, known:
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
