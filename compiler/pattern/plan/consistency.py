"""SASE++'s consistency of conditions on Kleene closures (section 5.2 of its paper): which of them can be
checked on the fly, while lists are shared, and which are postponed until lists are enumerated.

A condition with `b[i]`, `b[i-1]` or `b[..i-1]` is checked for an event e against the list L that it would be
an element of; one without for complete lists. It is *true-value consistent* if, being TRUE for L, it is TRUE
for every part of L (that holds e; that is not empty, unless the closure may be), and *false-value
consistent* if, not being TRUE for L, it is TRUE for no part of it. Where several lists are mentioned,
this refers to parts of all of them at once.

The paper does not consider NULL. `e.x > max(b[..i-1].x)` may be TRUE for the values 1, NULL and is UNKNOWN
for NULL alone, so SASE++'s own example is true-value consistent only where `b[].x` is not NULL. Such a
proviso is part of the claim. And here `b[i-1]` and `b[..i-1]` make a condition hold for first elements by
definition, so that an event that fails against L may still begin a list.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from enum import Enum, Flag, auto

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts, names_in
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import inner_parts
from neelc.ir.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, DataType, Decimal
from neelc.pattern.analysis.regions import place_of
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.type_of import type_of

# The parts of a Kleene closure that a condition names: they decide when a kernel can check it.


class ListPlaces(Flag):
    """The places of lists that a condition mentions; a mixture has several."""

    NONE = 0
    ELEMENT = auto()
    """`b[i]`: the event that is checked."""
    ADJACENT = auto()
    """`b[i-1]`: the element before it."""
    EARLIER = auto()
    """`b[i-2]` and before."""
    FIRST = auto()
    """`b[1]`."""
    RUNNING = auto()
    """`b[..i-1]` or `b[..i]`: what is there when element i is taken."""
    FINAL = auto()
    """`b[]`, `b[last]`, `b[2]`: known for sure when the list is complete."""
    NESTED = auto()
    """`k[i].b[last]`: a list inside an iteration."""
    SAME = auto()
    """`[id]`: all events of the part it stands at."""


PER_PAIR = ListPlaces.ELEMENT | ListPlaces.ADJACENT


def shapes(condition: e.Expr) -> tuple[tuple[str, ListPlaces], ...]:
    """Each list that a condition mentions, and which places of it, in the order of the text.

    >>> from pattern_examples import query
    >>> pattern = query("SEQ(A a, B+ b[], C+ c[]) WHERE b[i].x > b[i-1].x + a.x + max(c[].x)").pattern
    >>> [(name, shape.name) for name, shape in shapes(pattern.where)]
    [('b', 'ELEMENT|ADJACENT'), ('c', 'FINAL')]
    """
    places: dict[str, ListPlaces] = {}
    for node in walk(condition):
        if isinstance(node, e.ListElement | e.EveryElement):
            for name in names_in(node):
                places[name] = places.get(name, ListPlaces.NONE) | _shape(node)
    return tuple(places.items())


def singles(condition: e.Expr) -> tuple[str, ...]:
    """The variables that stand for one event each, sorted.

    >>> from pattern_examples import query
    >>> singles(query("SEQ(A a, B+ b[], C c) WHERE b[i].x > a.x + c.x").pattern.where)
    ('a', 'c')
    """
    return tuple(sorted(names_in(condition) - dict(shapes(condition)).keys()))


def running(condition: e.Expr) -> tuple[frozenset[e.EventRef], int]:
    """The lists that `i` ranges over, and the k of `b[i-k]` or `b[..i-k]`: for the first k elements the
    condition holds by definition."""
    places = [
        (node.base, place)
        for node in walk(condition)
        if isinstance(node, e.ListElement | e.EveryElement)
        and (place := place_of(node))
        and place.anchor == "CURRENT"
    ]
    return frozenset(base for base, _ in places), max((-place.offset for _, place in places), default=0)


def is_current(node: Node) -> bool:
    """Whether a reference is `b[i]`: the same event in every part of the list that holds it.

    >>> b = e.Variable("b")
    >>> is_current(e.ListElement(b, e.Index("CURRENT"))), is_current(e.EveryElement(b))
    (True, False)
    """
    match node:
        case e.ListElement(e.Variable(), e.Index("CURRENT", 0)):
            return True
    return False


def _shape(node: e.ListElement | e.EveryElement) -> ListPlaces:
    match node:
        case e.ListElement(e.Variable(), e.Index("CURRENT", offset)):
            return {0: ListPlaces.ELEMENT, -1: ListPlaces.ADJACENT}.get(offset, ListPlaces.EARLIER)
        case e.ListElement(e.Variable(), e.Index("FIRST", 0)):
            return ListPlaces.FIRST
        case e.EveryElement(e.Variable(), e.Index("CURRENT")):
            return ListPlaces.RUNNING
        case e.ListElement(e.Variable()) | e.EveryElement(e.Variable()):
            return ListPlaces.FINAL
    return ListPlaces.NESTED


# Small facts about values: constants, signs, and casts that keep the order.

DIGITS: dict[DataType, int] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 19}
"""Integers, from the narrowest, and the digits they need as decimals."""
INTEGERS: tuple[DataType, ...] = tuple(DIGITS)
NEVER_NEGATIVE = ("abs", "char_length", "length")


def number(expression: e.Expr) -> int | float | decimal.Decimal | None:
    """The value of a number that is written as one; None for everything else, and for NaN and infinities.

    >>> number(e.Cast(e.Literal(3, INT), DOUBLE)), number(e.Unary("-", e.Literal(3, INT)))
    (3, -3)
    """
    match expression:
        case e.Cast(operand, type) if keeps_order(type_of(operand), type):
            return number(operand)
        case e.Unary("-", e.Literal() as literal):
            value = number(literal)
            return None if value is None else -value
        case e.Literal(bool()):
            return None
        case e.Literal(int() | float() | decimal.Decimal() as value) if math.isfinite(value):
            return value
    return None


def keeps_order(source: DataType, target: DataType) -> bool:
    """Whether a cast never fails and never turns an order around; it may make two values equal.

    >>> keeps_order(INT, DOUBLE), keeps_order(BIGINT, INT), keeps_order(INT, Decimal(10, 0))
    (True, False, True)
    """
    if source == target:
        return True
    match source, target:
        case Decimal(precision, scale), Decimal(wide, finer):
            return finer >= scale and wide - finer >= precision - scale
        case _, Decimal(wide, finer) if source in INTEGERS:
            return wide - finer >= DIGITS[source]
        case Decimal(), _:
            return target == DOUBLE
    if source in INTEGERS and target in INTEGERS:
        return INTEGERS.index(source) < INTEGERS.index(target)
    return target == DOUBLE and (source in INTEGERS or source == FLOAT)


def uncast(expression: e.Expr) -> e.Expr:
    """The expression without casts that keep the order; NULL exactly where it was NULL before."""
    match expression:
        case e.Cast(operand, type) if keeps_order(type_of(operand, True), type):
            return uncast(operand)
    return expression


def sign(expression: e.Expr, positive: Collection[e.Expr]) -> int | None:
    """1 if a number is never negative, where NaN is greater than all, as in Spark's order; -1 if it is never
    positive, nor NaN; None if that is not known. What is in `positive` is known to be not negative.

    >>> sign(e.Binary("*", e.Literal(2, INT), e.Literal(3, INT)), ()), sign(e.Literal(-1, INT), ())
    (1, -1)
    """
    if over_list(expression) in positive:
        return 1
    constant = number(expression)
    if constant is not None:
        return 1 if constant >= 0 else -1
    match expression:
        case e.Cast(operand, type) if keeps_order(type_of(operand, True), type):
            return sign(operand, positive)
        case e.Call(name) if name in NEVER_NEGATIVE:
            return 1
        case e.Binary("+" | "*" | "/", left, right):
            both = {sign(left, positive), sign(right, positive)}
            return 1 if both == {1} else None
        case e.Unary("-", operand) if type_of(operand, True) in INTEGERS:
            opposite = sign(operand, positive)
            return None if opposite is None else -opposite
    return None


def over_list(expression: e.Expr) -> e.Expr:
    """The expression for each element: `b[i].x`, `b[..i-1].x` and `b[].x` all become `b[].x`.

    Where `b[i]` stands beside a list, it is not one of the elements the list runs over, and stays.
    """
    has_list = False

    def widened(node: Node) -> Node | None:
        nonlocal has_list
        has_list = has_list or isinstance(node, e.EveryElement)
        return (
            e.EveryElement(node.base) if isinstance(node, e.EveryElement) and node.upper is not None else None
        )

    def spread(node: Node) -> Node | None:
        return e.EveryElement(node.base) if isinstance(node, e.ListElement) and is_current(node) else None

    changed = transform(expression, widened)
    changed = changed if has_list else transform(changed, spread)
    assert isinstance(changed, e.Expr)
    return changed


# What follows from the rest of a pattern for the elements of its lists.

STRICT = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class ElementFacts:
    """`filled` are lists that have an element wherever they are bound at all. `solid` is what is not NULL for
    any element, `positive` what is not negative, each written with `b[]`."""

    filled: frozenset[str] = frozenset()
    solid: frozenset[e.Expr] = frozenset()
    positive: frozenset[e.Expr] = frozenset()

    def __and__(self, other: ElementFacts) -> ElementFacts:
        return ElementFacts(
            self.filled & other.filled, self.solid & other.solid, self.positive & other.positive
        )

    def __or__(self, other: ElementFacts) -> ElementFacts:
        return ElementFacts(
            self.filled | other.filled, self.solid | other.solid, self.positive | other.positive
        )


def knowledge(pattern: p.Pattern) -> ElementFacts:
    """What the conditions on single elements, `b[i].x > 5`, and the operators say about the lists.

    These conditions are checked first, for each event alone: no list has an element for which one fails.

    >>> from pattern_examples import query
    >>> facts = knowledge(query("SEQ(A a, B+ b[], C* c[]) WHERE b[i].x >= 5 AND c[i].n < a.n").pattern)
    >>> sorted(facts.filled), sorted(map(str, facts.solid)), sorted(map(str, facts.positive))
    (['b'], ['b[].x', 'c[].n'], ['b[].x'])
    """
    by_list: dict[str, ElementFacts] = {}
    for name, facts in _lists(pattern, ()):
        # Branches of an OR may share a list: then only what holds in all of them is known.
        by_list[name] = by_list[name] & facts if name in by_list else facts
    whole = ElementFacts()
    for facts in by_list.values():
        whole |= facts
    return whole


def _lists(part: p.Pattern, around: tuple[e.Expr, ...]) -> Iterator[tuple[str, ElementFacts]]:
    """Each list with what the conditions on it and around it say of it."""
    around = (*around, *conjuncts(part.where))
    if isinstance(part, p.Repeat) and part.variable is not None:
        facts = ElementFacts(frozenset([part.variable] if part.least > 0 else []))
        for conjunct in around:
            if shapes(conjunct) == ((part.variable, ListPlaces.ELEMENT),):
                facts |= _facts_from(conjunct)
        yield part.variable, facts
    for inner in inner_parts(part):
        yield from _lists(inner, around)


def _facts_from(condition: e.Expr) -> ElementFacts:
    """What is known of elements for which a condition is TRUE."""
    match condition:
        case e.Binary(op, left, right) if op in STRICT:
            solid = _strict(left, right)
            if op in (">", ">=", "=") and _is_not_negative(right):
                return ElementFacts(solid=solid, positive=_uncast(left))
            if op in ("<", "<=", "=") and _is_not_negative(left):
                return ElementFacts(solid=solid, positive=_uncast(right))
            return ElementFacts(solid=solid)
        case e.Between(operand, low, high, negated=False):
            positive = _uncast(operand) if _is_not_negative(low) else frozenset()
            return ElementFacts(solid=_strict(operand, low, high), positive=positive)
        case e.IsNull(operand, negated=True) | e.InList(operand):
            return ElementFacts(solid=_strict(operand))
    return ElementFacts()


def _is_not_negative(expression: e.Expr) -> bool:
    constant = number(expression)
    return constant is not None and constant >= 0


def _strict(*expressions: e.Expr) -> frozenset[e.Expr]:
    """What cannot be NULL if these expressions are not NULL, as far as it depends on an element."""
    solid: set[e.Expr] = set()
    for expression in expressions:
        if any(isinstance(node, e.ListElement) for node in walk(expression)):
            solid.add(over_list(expression))
        match expression:
            case e.Cast(operand) | e.Unary(_, operand):
                solid |= _strict(operand)
            case e.Binary(op, left, right) if op in e.ARITHMETIC:
                solid |= _strict(left, right)
    return frozenset(solid)


def _uncast(expression: e.Expr) -> frozenset[e.Expr]:
    """The expression itself; a number may be negative where what is computed from it is not."""
    return frozenset([over_list(uncast(expression))])


# What becomes of a value, and of a condition, when the list it is computed from loses elements.
#
# L is a list, L' a part of it. A condition on element i is checked for one event of both; all other
# conditions for L and L' as a whole. Truth has three values, and NULL and NaN are values like others here:
# NaN is the greatest number. A `Claim` is what has to be known for a statement to hold for all L and L'.

Claim = frozenset[e.Expr] | None
"""What must not be NULL for any element; None if the statement cannot be made at all."""
SURE: frozenset[e.Expr] = frozenset()

LEAST = ("min", "bool_and", "every")
GREATEST = ("max", "bool_or", "any", "some")
COUNTS = ("count", "count_if")


def together(claims: Iterable[Claim]) -> Claim:
    """All of these statements."""
    needed = SURE
    for claim in claims:
        if claim is None:
            return None
        needed |= claim
    return needed


def only_if(is_so: bool, claim: Claim = SURE) -> Claim:
    return claim if is_so else None


@dataclass(frozen=True)
class Trend:
    """A value of L' against that of L, where neither is NULL: never less (`rises`), never greater (`falls`).

    `stays_null`: NULL for L is NULL for L'. `stays_known`: what is not NULL for L is not NULL for L'.
    """

    rises: bool
    falls: bool
    stays_null: bool
    stays_known: Claim


FIXED = Trend(True, True, True, SURE)
ANY = Trend(False, False, False, None)


@dataclass(frozen=True)
class TruthClaims:
    """Of a condition: TRUE for L is TRUE for L'; the same of FALSE, of not TRUE and of not FALSE."""

    true: Claim
    false: Claim
    not_true: Claim
    not_false: Claim


def truths(condition: e.Expr, facts: ElementFacts) -> TruthClaims:
    """What stays of a condition's truth."""
    match condition:
        case e.SameAttributes():  # equal values, none NULL: so are fewer of them
            return TruthClaims(SURE, None, None, None)
        case e.Conjunction(operands) | e.Disjunction(operands):
            return _all([truths(operand, facts) for operand in operands])
        case e.Negation(operand):
            return _opposite(truths(operand, facts))
        case e.IsTruth(operand, value, negated):
            claims = _is_truth(truths(operand, facts), value)
            return _opposite(claims) if negated else claims
        case e.IsNull(operand, negated):
            trend = value_trend(operand, facts)
            claims = _two_valued(only_if(trend.stays_null), trend.stays_known)
            return _opposite(claims) if negated else claims
        case e.Between(operand, low, high, negated):
            middle = value_trend(operand, facts)
            above = _compared(">=", middle, value_trend(low, facts))
            inside = _all([above, _compared("<=", middle, value_trend(high, facts))])
            return _opposite(inside) if negated else inside
        case e.Binary(op, left, right) if op in e.COMPARISONS:
            return _compared(op, value_trend(left, facts), value_trend(right, facts))
    return _compared(">=", value_trend(condition, facts), FIXED)  # FALSE < TRUE


def _all(parts: list[TruthClaims]) -> TruthClaims:
    """AND and OR alike: what stays of each operand stays of the whole, since both are monotone in TRUE, in
    FALSE and in what is neither."""
    return TruthClaims(
        together(part.true for part in parts),
        together(part.false for part in parts),
        together(part.not_true for part in parts),
        together(part.not_false for part in parts),
    )


def _opposite(claims: TruthClaims) -> TruthClaims:
    return TruthClaims(claims.false, claims.true, claims.not_false, claims.not_true)


def _two_valued(true: Claim, false: Claim) -> TruthClaims:
    return TruthClaims(true, false, false, true)


def _is_truth(claims: TruthClaims, value: bool | None) -> TruthClaims:
    match value:
        case True:
            return _two_valued(claims.true, claims.not_true)
        case False:
            return _two_valued(claims.false, claims.not_false)
    return _two_valued(together((claims.not_true, claims.not_false)), together((claims.true, claims.false)))


def _compared(op: str, left: Trend, right: Trend) -> TruthClaims:
    """`left > right` stays TRUE if left never falls and right never rises and neither becomes NULL; it
    stays not TRUE if left never rises and right never falls and NULL remains NULL. The rest is alike."""
    up, down = left.rises and right.falls, left.falls and right.rises
    if op in ("<", "<="):
        up, down = down, up
    elif op not in (">", ">="):
        up = down = up and down
    nulls = only_if(left.stays_null and right.stays_null)
    values = together((left.stays_known, right.stays_known))
    if op == "<=>":
        nulls = values = together((nulls, values))
    return TruthClaims(only_if(up, values), only_if(down, values), only_if(down, nulls), only_if(up, nulls))


def value_trend(expression: e.Expr, facts: ElementFacts) -> Trend:
    """How a value changes."""
    if is_fixed(expression):
        return FIXED
    match expression:
        case e.Aggregate():
            return _aggregate_trend(expression, facts)
        case e.Cast(operand, type) if keeps_order(type_of(operand), type):
            return value_trend(operand, facts)
        case e.Binary(op, left, right):
            operand, constant = (right, left) if op in "+*" and number(right) is None else (left, right)
            return value_trend(operand, facts) if _keeps_order(op, operand, constant) else ANY
    return ANY


def is_fixed(expression: e.Expr) -> bool:
    """Whether a value does not depend on the list: it names only `b[i]` and single variables."""
    return not any(
        isinstance(node, e.Aggregate | e.EveryElement | e.SameAttributes | e.MatchProperty)
        or (isinstance(node, e.ListElement) and not is_current(node))
        for node in walk(expression)
    )


def _keeps_order(op: str, operand: e.Expr, constant: e.Expr) -> bool:
    """Whether arithmetic with a constant keeps the order and never fails. Integers may overflow, to NULL;
    counts are far from that. Negative factors are out: NaN, the greatest number, would remain it."""
    by = number(constant)
    if by is None:
        return False
    if type_of(operand) == DOUBLE == type_of(constant):
        return op in ("+", "-") or (op in ("*", "/") and by > 0 and float(by) > 0)
    match uncast(operand):
        case e.Aggregate(name):
            is_count = name in COUNTS and type_of(operand) == BIGINT
            return is_count and op in ("+", "-") and -(2**31) < by < 2**31
    return False


def _aggregate_trend(node: e.Aggregate, facts: ElementFacts) -> Trend:
    """A part of the list has less of everything: its greatest value is not greater, its least not less.
    An aggregate is NULL where no value is; so it stays NULL, and may become NULL."""
    each = _one_list(node)
    if node.argument is None or each is None:
        return ANY
    if node.name in COUNTS:
        return Trend(False, True, True, SURE)
    solid = _solid(node.argument, each, facts)
    if node.name in LEAST:
        return Trend(True, False, True, solid)
    if node.name in GREATEST:
        return Trend(False, True, True, solid)
    direction = sign(node.argument, facts.positive)
    # Of DOUBLEs too: added from left to right, as the reference does, fewer summands that are not negative
    # give no greater sum, since rounding keeps the order. Of distinct ones the order may change.
    if node.name != "sum" or direction is None or (node.distinct and node.type == DOUBLE):
        return ANY
    return Trend(direction < 0, direction > 0, _never_overflows(node.argument, node.type), solid)


def _one_list(node: e.Aggregate) -> e.EveryElement | None:
    """The list an aggregate ranges over, if a part of it is what the aggregate of a part ranges over.

    That is so for `b[]`, and for `b[..i-k]` and `b[..last-k]`: what has k elements after it in L' has k
    after it in L. It is not for `b[..2]`: another element moves up.
    """
    ranges = [inner for inner in walk(node) if isinstance(inner, e.EveryElement)]
    others = (
        inner for inner in walk(node) if isinstance(inner, e.Aggregate | e.ListElement) and inner is not node
    )
    if len(set(ranges)) != 1 or not all(is_current(other) for other in others):
        return None
    each = ranges[0]
    grows = each.upper is None or each.upper.anchor in ("CURRENT", "LAST")
    return each if grows and isinstance(each.base, e.Variable) else None


def _solid(argument: e.Expr, each: e.EveryElement, facts: ElementFacts) -> Claim:
    """What must not be NULL so that the aggregate is not: for each element the argument, unless it is known
    to be none; and there must be an element. `b[..i-k]` has one where k elements are before."""
    assert isinstance(each.base, e.Variable)
    is_running = each.upper is not None and each.upper.anchor == "CURRENT"
    is_whole = each.upper is None or each.upper == e.Index("LAST")
    if not is_running and not (is_whole and each.base.name in facts.filled):
        return None
    match uncast(argument):
        case e.EventTime(e.EveryElement()) | e.WholeEvent(e.EveryElement()):
            return SURE
        case e.Literal(value) if value is not None:
            return SURE
        case bare:
            each_value = over_list(bare)
            return SURE if each_value in facts.solid else frozenset([each_value])


def _never_overflows(argument: e.Expr, type: DataType) -> bool:
    """Whether no sum of fewer than 2^32 values becomes NULL."""
    if type == DOUBLE:
        return True
    match type_of(uncast(argument), True), type:
        case Decimal(precision, scale), Decimal(wide, finer):
            return wide - finer >= precision - scale + 10
        case narrow, _:
            return type == BIGINT and narrow in INTEGERS and narrow != BIGINT


# Relations between an element of a list and the one before it: which of them are transitive.
#
# Of a list in which a transitive relation holds for all neighbours, it holds for the neighbours of every
# part: what stood between two elements is skipped step by step.

COMPLEMENT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "<=>": "<=>"}
ORDERS = ("<", "<=", ">", ">=", "=", "<=>")


def is_adjacent(condition: e.Expr) -> bool:
    """Whether a condition relates elements to the ones before them, and mentions only single variables
    besides."""
    places = dict(shapes(condition)).values()
    return len(places) == 1 and all(ListPlaces.ADJACENT in shape and shape in PER_PAIR for shape in places)


def is_transitive(condition: e.Expr) -> bool:
    """Whether an adjacent condition that holds for x, y and for y, z holds for x, z.

    >>> from pattern_examples import query
    >>> def transitive(text: str) -> bool:
    ...     return is_transitive(query(f"SEQ(A a, B+ b[]) WHERE {text}").pattern.where)
    >>> transitive("b[i].x >= b[i-1].x"), transitive("b[i-1].x * a.x < b[i].x * a.x")
    (True, True)
    >>> transitive("b[i].n > b[i-1].n + 1"), transitive("b[i].n < b[i-1].n + 1")
    (True, False)
    >>> transitive("b[i].x <> b[i-1].x"), transitive("b[i].x > b[i-1].n"), transitive("b[i].x > a.x")
    (False, False, False)
    """
    return is_adjacent(condition) and _is_transitive(condition)


def _is_transitive(condition: e.Expr) -> bool:
    if not (_mentions(condition, 0) and _mentions(condition, -1)):
        return True  # of y alone, or of x alone: for x, z the relation is the same as before
    match condition:
        case e.Conjunction(operands):
            return all(_is_transitive(operand) for operand in operands)
        case e.Negation(e.Binary(op, left, right)) if op in COMPLEMENT:
            return _is_order(COMPLEMENT[op], left, right)
        case e.Binary(op, left, right):
            return _is_order(op, left, right)
        case e.IsDistinct(left, right, negated=True):
            return _is_order("<=>", left, right)
    return False


def _is_order(op: str, left: e.Expr, right: e.Expr) -> bool:
    """Whether both sides are the same for their elements, in one of Spark's orders: those are total, NaN
    included, and TRUE of no NULL. Or almost the same: from y > x + c and z > y + c follows z > x + c if c is
    not negative, since y + c >= y however it is rounded."""
    if _mentions(left, -1):
        op, left, right = MIRROR.get(op, ""), right, left
    if op not in ORDERS or _mentions(left, -1) or _mentions(right, 0):
        return False
    before = _shifted(left)
    match op, right:
        case ((">" | ">="), e.Binary("+", base, step)) | (("<" | "<="), e.Binary("-", base, step)):
            least = number(step)
            return right == before or (base == before and least is not None and least >= 0)
    return right == before


def _mentions(node: Node, offset: int) -> bool:
    return any(isinstance(ref, e.Index) and ref.offset == offset for ref in walk(node))


def _shifted(expression: e.Expr) -> Node:
    """The expression of `b[i]` as one of `b[i-1]`."""

    def change(node: Node) -> Node | None:
        match node:
            case e.ListElement(base) if is_current(node):
                return e.ListElement(base, e.Index("CURRENT", -1))
        return None

    return transform(expression, change)


__all__ = [
    "Claim",
    "Consistency",
    "ConsistencyKind",
    "ElementFacts",
    "ListPlaces",
    "consistency",
    "knowledge",
    "shapes",
]

NOTHING = ElementFacts()
NO_TRUTHS = TruthClaims(None, None, None, None)


class ConsistencyKind(Enum):
    """SASE++'s four classes."""

    BOTH = "true- and false-value consistent"
    TRUE = "true-value consistent"
    FALSE = "false-value consistent"
    INCONSISTENT = "inconsistent"


MEANING = {
    ConsistencyKind.BOTH: "holds or fails for each part of a list as for the list; "
    "checked on the fly, SAFE or discarded",
    ConsistencyKind.TRUE: "what holds for a list holds for each part of it; checked on the fly, SAFE",
    ConsistencyKind.FALSE: "what fails for a list fails for each part of it; "
    "checked on the fly, discarded or kept",
    ConsistencyKind.INCONSISTENT: "what a list says of its parts is not known; postponed",
}
KINDS = {
    (True, True): ConsistencyKind.BOTH,
    (True, False): ConsistencyKind.TRUE,
    (False, True): ConsistencyKind.FALSE,
}


@dataclass(frozen=True)
class Consistency:
    """What is known of one condition.

    `true` and `false` are the two claims: None, or what must not be NULL for any element of the lists for
    the claim to hold. `false_later` is the second claim for parts of L in which at least `lag` elements
    stand before e: for the first `lag` elements of a list the condition holds by definition.

    `is_adjacent`: it relates `b[i]` and `b[i-1]` of one list and mentions only single variables beside.
    `is_transitive`: that relation is transitive, so that it holds for every part of a list for all of
    whose neighbours it holds.
    """

    condition: e.Expr
    true: Claim
    false: Claim
    false_later: Claim
    lag: int
    shapes: tuple[tuple[str, ListPlaces], ...]
    singles: tuple[str, ...]
    is_adjacent: bool
    is_transitive: bool

    @property
    def kind(self) -> ConsistencyKind:
        """The class, whatever is NULL."""
        return _kind(self.true == frozenset(), self.false == frozenset())

    @property
    def kind_without_nulls(self) -> ConsistencyKind:
        """The class for lists for whose elements nothing in `provided` is NULL."""
        return _kind(self.true is not None, self.false is not None)

    @property
    def provided(self) -> frozenset[e.Expr]:
        """What must not be NULL for any element, written with `b[]`, for `kind_without_nulls` to hold."""
        return (self.true or frozenset()) | (self.false or frozenset())

    @property
    def shape(self) -> ListPlaces:
        """All places of all lists that the condition mentions."""
        whole = ListPlaces.SAME if isinstance(self.condition, e.SameAttributes) else ListPlaces.NONE
        for _, shape in self.shapes:
            whole |= shape
        return whole

    def given(self, solid: Iterable[e.Expr]) -> Consistency:
        """With what is known not to be NULL for any element, written with `b[]`.

        >>> from pattern_examples import query
        >>> result = consistency(query("SEQ(B+ b[], C c) WHERE c.x > max(b[..i].x)").pattern.where)
        >>> result.kind.name, result.given(result.provided).kind.name
        ('INCONSISTENT', 'TRUE')
        """
        true, false, later = (
            None if claim is None else claim.difference(solid)
            for claim in (self.true, self.false, self.false_later)
        )
        return replace(self, true=true, false=false, false_later=later)

    def __str__(self) -> str:
        """The sentence for explanations."""
        kind = self.kind_without_nulls
        names = ", ".join(sorted(map(str, self.provided)))
        proviso = f" where {names} is not NULL" if names else ""
        sentence = f"{kind.value}{proviso}: {MEANING[kind]}"
        if self.is_transitive:
            return (
                f"{sentence}; transitive: what holds for all neighbours in a list does so in each part of it"
            )
        if self.false_later is not None and self.false is None:
            return f"{sentence}; what fails for a list fails for each part of it that it does not begin"
        return sentence


def consistency(condition: e.Expr, facts: ElementFacts = NOTHING) -> Consistency:
    """What is known of one conjunct; `facts` are those of the whole pattern (`knowledge`).

    >>> from pattern_examples import query
    >>> def of(text: str) -> Consistency:
    ...     pattern = query(f"SEQ(A a, B+ b[], C c) WHERE {text}").pattern
    ...     return consistency(pattern.where, knowledge(pattern))
    >>> of("b[i].x > a.x").kind.name, of("c.x < max(b[].x)").kind.name, of("c.x < avg(b[].x)").kind.name
    ('BOTH', 'FALSE', 'INCONSISTENT')
    >>> result = of("b[i].x > max(b[..i-1].x)")
    >>> result.kind.name, result.kind_without_nulls.name, [str(element) for element in result.provided]
    ('INCONSISTENT', 'TRUE', ['b[].x'])
    >>> print(of("count(b[]) < 5"))
    true-value consistent: what holds for a list holds for each part of it; checked on the fly, SAFE
    """
    bases, lag = running(condition)
    filled = facts.filled | {base.name for base in bases if isinstance(base, e.Variable)}
    claims = truths(condition, replace(facts, filled=filled)) if len(bases) < 2 else NO_TRUTHS
    return Consistency(
        condition,
        true=claims.true,
        false=None if lag > 0 else claims.not_true,
        false_later=claims.not_true,
        lag=lag,
        shapes=shapes(condition),
        singles=singles(condition),
        is_adjacent=is_adjacent(condition),
        is_transitive=is_transitive(condition),
    )


def _kind(true: bool, false: bool) -> ConsistencyKind:
    return KINDS.get((true, false), ConsistencyKind.INCONSISTENT)
