"""The algebra of conditions, in three-valued logic.

`simpler` keeps the value of an expression, UNKNOWN included. `as_condition` keeps only the events for which
it is TRUE, which is all that matters for a condition.
"""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cmp_to_key
from itertools import chain, pairwise, permutations

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir import types as t
from neelc.ir.names import bare, same
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import inner_parts
from neelc.ir.program import Stream
from neelc.ir.types import TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.pattern.analysis.regions import QueryFacts, range_of, spots
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.evaluate import compared
from neelc.scalar.evaluate_constants import FALSE, TRUE, UNKNOWN, folded, is_constant, nearly, value_of
from neelc.scalar.type_of import type_of

Junction = e.Conjunction | e.Disjunction
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def simpler(expression: e.Expr) -> e.Expr:
    """An expression that always has the same value, with NOT before nothing that can be turned around.

    >>> from pattern_examples import query
    >>> def shown(text): return str(simpler(query(f"A a WHERE {text}").pattern.where))
    >>> shown("NOT (a.x > 1 OR a.n IS NULL AND TRUE)"), shown("a.n IN (7)"), shown("a.x <=> a.x")
    ('a.x <= 1 AND a.n IS NOT NULL', 'a.n = 7', 'TRUE')

    `a.x OR NOT a.x` is not TRUE: it may be UNKNOWN.

    >>> shown("a.n > 1 OR NOT a.n > 1")
    'a.n > 1 OR a.n <= 1'
    """
    changed = transform(expression, _law)
    assert isinstance(changed, e.Expr)
    return changed


def _law(node: Node) -> e.Expr | None:
    match node:
        case e.Negation(operand):
            return negated(operand)
        case e.Conjunction() | e.Disjunction():
            return _joined(node)
        case e.Binary("<=>", left, right) if left == right:
            return TRUE
        case e.IsDistinct(left, right, inverse) if left == right:
            return TRUE if inverse else FALSE
        case e.Binary(op, left, right) if op in OPPOSITE and (_is_null(left) or _is_null(right)):
            return UNKNOWN
        case e.InList(operand, items, inverse):
            different = tuple(dict.fromkeys(items))
            if len(different) == 1:
                comparison = e.Binary("<>" if inverse else "=", operand, different[0], span=node.span)
                return _law(comparison) or comparison
            return node if different == items else replace(node, items=different)
    return None


def _is_null(expression: e.Expr) -> bool:
    return isinstance(expression, e.Literal) and expression.value is None


def _joined(node: Junction) -> e.Expr:
    """AND or OR without what adds nothing: the same again, TRUE in an AND, FALSE in an OR."""
    kind: type[Junction] = e.Conjunction if isinstance(node, e.Conjunction) else e.Disjunction
    neutral, decisive = (TRUE, FALSE) if kind is e.Conjunction else (FALSE, TRUE)
    nested = (operand.operands if isinstance(operand, kind) else (operand,) for operand in node.operands)
    flat = chain.from_iterable(nested)
    kept = tuple(dict.fromkeys(operand for operand in flat if operand != neutral))
    if decisive in kept:
        return decisive
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return node if kept == node.operands else kind(kept, span=node.span)


def negated(condition: e.Expr) -> e.Expr:
    """`NOT condition`, with the same value.

    Values of one type are in order, NaN last, so what is not less is greater or equal, or UNKNOWN.

    >>> from pattern_examples import query
    >>> print(negated(query("A a WHERE a.x > 1 AND a.user NOT LIKE 'x%'").pattern.where))
    a.x <= 1 OR a.user LIKE 'x%'
    """
    match condition:
        case e.Literal(value):
            return UNKNOWN if value is None else FALSE if value else TRUE
        case e.Negation(operand):
            return operand
        case e.Binary(op) if op in OPPOSITE:
            return replace(condition, op=OPPOSITE[op])
        case e.Binary("<=>", left, right):
            return e.IsDistinct(left, right, span=condition.span)
        case e.Between() | e.InList() | e.Like() | e.IsNull() | e.IsTruth() | e.IsDistinct():
            return replace(condition, negated=not condition.negated)
        case e.Conjunction(operands):
            return _joined(e.Disjunction(tuple(map(negated, operands)), span=condition.span))
        case e.Disjunction(operands):
            return _joined(e.Conjunction(tuple(map(negated, operands)), span=condition.span))
    return e.Negation(condition, span=condition.span)


def as_condition(expression: e.Expr) -> e.Expr:
    """A condition that is TRUE for the same events; what is UNKNOWN may have become FALSE.

    Only AND and OR pass this on to their operands: NOT makes TRUE of FALSE, and not of UNKNOWN.

    >>> from pattern_examples import query
    >>> def shown(text): return str(as_condition(query(f"A a WHERE {text}").pattern.where))
    >>> shown("a.x = a.x OR a.x < a.x OR CAST(NULL AS BOOLEAN)"), shown("NOT a.x < a.x")
    ('a.x IS NOT NULL OR CAST(NULL AS BOOLEAN)', 'NOT a.x < a.x')
    """
    match expression:
        case e.Literal(None):
            return FALSE
        case e.Conjunction(operands) | e.Disjunction(operands):
            changed = tuple(map(as_condition, operands))
            same = all(old is new for old, new in zip(operands, changed, strict=True))
            return expression if same else _joined(replace(expression, operands=changed))
        case e.Binary("=" | "<=" | ">=", left, right) if left == right:
            return e.IsNull(left, negated=True, span=expression.span)
        case e.Binary("<>" | "<" | ">", left, right) if left == right:
            return FALSE
        case e.IsTruth(operand, True, False):
            return as_condition(operand)
        case e.InList(_, items, inverse) if any(map(_is_null, items)):
            known = tuple(item for item in items if not _is_null(item))
            return FALSE if inverse or not known else simpler(replace(expression, items=known))
    return expression


# What a condition claims when it is TRUE: which value is at most which other, and what is NULL or not.


@dataclass(frozen=True)
class AtMost:
    """`left <= right`, or `left < right` when `strict`; none of them is NULL."""

    left: e.Expr
    right: e.Expr
    strict: bool = False


@dataclass(frozen=True)
class Differ:
    """`left <> right`; none of them is NULL."""

    left: e.Expr
    right: e.Expr


@dataclass(frozen=True)
class Null:
    """The term is NULL."""

    term: e.Expr


@dataclass(frozen=True)
class NotNull:
    """The term is not NULL."""

    term: e.Expr


@dataclass(frozen=True)
class Either:
    """One of the conditions is TRUE. Of none, nothing can be."""

    conditions: tuple[e.Expr, ...]


Claim = AtMost | Differ | Null | NotNull | Either


def claims(condition: e.Expr) -> Iterator[Claim]:
    """What follows when a condition is TRUE. What it does not understand it takes as a term that is TRUE.

    >>> from pattern_examples import query
    >>> for claim in claims(query("A a WHERE a.n BETWEEN 1 AND 5 AND a.x IS NULL").pattern.where):
    ...     print(type(claim).__name__, *map(str, vars(claim).values()))
    AtMost 1 a.n False
    AtMost a.n 5 False
    Null a.x
    """
    match spelled_out(condition):
        case e.Literal(value):
            yield from () if value is True else (Either(()),)
        case e.Conjunction(operands):
            for operand in operands:
                yield from claims(operand)
        case e.Disjunction(operands):
            yield Either(operands)
        case e.Binary(op, left, right) if op in OPPOSITE:
            yield from _comparison(op, left, right)
        case e.IsNull(operand, inverse):
            yield NotNull(operand) if inverse else Null(operand)
        case e.Negation(operand):
            yield from _comparison("=", operand, FALSE)
        case e.Like(negated=True) as unlike:
            yield from _comparison("=", replace(unlike, negated=False), FALSE)
        case other:
            yield from _comparison("=", other, TRUE)


def _comparison(op: str, left: e.Expr, right: e.Expr) -> Iterator[Claim]:
    if op == "<>":
        yield Differ(left, right)
    if op in ("=", "<", "<="):
        yield AtMost(left, right, strict=op == "<")
    if op in ("=", ">", ">="):
        yield AtMost(right, left, strict=op == ">")


def spelled_out(condition: e.Expr) -> e.Expr:
    """A condition that is TRUE for the same values, written with comparisons, IS NULL, AND and OR.

    >>> from pattern_examples import query
    >>> print(spelled_out(query("A a WHERE a.x NOT BETWEEN a.n AND 5").pattern.where))
    a.x < a.n OR a.x > 5
    >>> print(spelled_out(query("A a WHERE a.x IS DISTINCT FROM a.n").pattern.where))
    a.x <> a.n OR a.x IS NULL AND a.n IS NOT NULL OR a.x IS NOT NULL AND a.n IS NULL
    """
    match condition:
        case e.Between(operand, low, high, inverse):
            inside = e.Conjunction((e.Binary(">=", operand, low), e.Binary("<=", operand, high)))
            return negated(inside) if inverse else inside
        case e.InList(operand, items, inverse):
            tests = tuple(e.Binary("<>" if inverse else "=", operand, item) for item in items)
            return e.Conjunction(tests) if inverse else e.Disjunction(tests)
        case e.Binary("<=>", left, right) | e.IsDistinct(left, right, True):
            both = e.Conjunction((e.IsNull(left), e.IsNull(right)))
            return e.Disjunction((e.Binary("=", left, right), both))
        case e.IsDistinct(left, right):
            one = e.Conjunction((e.IsNull(left), e.IsNull(right, negated=True)))
            other = e.Conjunction((e.IsNull(left, negated=True), e.IsNull(right)))
            return e.Disjunction((e.Binary("<>", left, right), one, other))
        case e.IsTruth(operand, None, inverse):
            return e.IsNull(operand, inverse)
        case e.IsTruth(operand, value, False):
            return operand if value else negated(operand)
        case e.IsTruth(operand, value):
            return e.Disjunction((negated(operand) if value else operand, e.IsNull(operand)))
    return condition


# Whether conditions can be TRUE together.

# The order of values: whether the claims about them make some value less than itself.

_BITS = {t.TINYINT: 8, t.SMALLINT: 16, t.INT: 32, t.BIGINT: 64}
_INTEGERS: dict[t.DataType, tuple[int, int]] = {
    type: (-(1 << bits - 1), (1 << bits - 1) - 1) for type, bits in _BITS.items()
}
_ENDS: dict[t.DataType, tuple[e.Value, e.Value]] = {
    **_INTEGERS,
    t.BOOLEAN: (False, True),
    t.FLOAT: (-math.inf, math.nan),  # NaN is greater than every number
    t.DOUBLE: (-math.inf, math.nan),
}
"""The least and the greatest value of types that have them."""

_FARTHEST = datetime.timedelta(hours=36)
"""No two time zones differ by more: each is at most 18 hours from UTC."""

Edges = dict[e.Expr, list[e.Expr]]


def is_impossible_order(order: Sequence[AtMost], apart: Sequence[Differ]) -> bool:
    """Whether no values can be in this order and differ where they must.

    All values of one type are in one order, which is that of Spark: NaN equals itself and is the greatest.
    So the claims can be met unless they lead from a value back to itself with a `<` on the way, or make two
    values equal that differ. Integers have no value between neighbours, and types have a greatest value.

    >>> a, one, two = e.Attribute(e.Variable("a"), "n", t.INT), e.Literal(1, t.INT), e.Literal(2, t.INT)
    >>> is_impossible_order([AtMost(two, a), AtMost(a, one)], [])
    True
    >>> is_impossible_order([AtMost(one, a), AtMost(a, one)], [Differ(a, one)])
    True
    >>> is_impossible_order([AtMost(one, a), AtMost(a, one)], [Differ(a, two)])
    False
    """
    known = [_sharpened(claim) for claim in order]
    known += [end for term in _terms([*known, *apart]) if not is_constant(term) for end in _ends(term)]
    known += _ascending(_terms([*known, *apart]))
    above: Edges = defaultdict(list)
    for claim in known:
        above[claim.left].append(claim.right)
    equal = _equals(above)
    unequal: list[AtMost | Differ] = [*(claim for claim in known if claim.strict), *apart]
    return any(
        claim.left == claim.right or (claim.left in equal and equal[claim.left] == equal.get(claim.right))
        for claim in unequal
    )


def _terms(claims: Iterable[AtMost | Differ]) -> tuple[e.Expr, ...]:
    """All that is compared, each once."""
    return tuple(dict.fromkeys(term for claim in claims for term in (claim.left, claim.right)))


def _sharpened(claim: AtMost) -> AtMost:
    """Between integers, less than 3 is at most 2."""
    match claim:
        case AtMost(left, e.Literal(int(value), type), True) if type in _INTEGERS:
            return AtMost(left, e.Literal(value - 1, type)) if value > _INTEGERS[type][0] else claim
        case AtMost(e.Literal(int(value), type), right, True) if type in _INTEGERS:
            return AtMost(e.Literal(value + 1, type), right) if value < _INTEGERS[type][1] else claim
    return claim


def _ends(term: e.Expr) -> Iterator[AtMost]:
    type = type_of(term)
    if type in _ENDS:
        least, greatest = _ENDS[type]
        yield AtMost(e.Literal(least, type), term)
        yield AtMost(term, e.Literal(greatest, type))


def _ascending(terms: Sequence[e.Expr]) -> list[AtMost]:
    """The order of those terms that are constants, each type for itself."""
    groups: dict[t.DataType, dict[e.Expr, object]] = defaultdict(dict)
    for term in terms:
        if is_constant(term):
            groups[type_of(term)][term] = value_of(term)
    known = [claim for values in groups.values() for claim in _sorted(values)]
    return [*known, *_days_apart(terms, groups[t.TIMESTAMP])]


def _days_apart(terms: Iterable[e.Expr], known: Mapping[e.Expr, object]) -> Iterator[AtMost]:
    """The order of instants that holds in all time zones, where some depend on the session's.

    >>> texts = ("2024-03-01", "2024-03-31", "2024-03-30 00:00:00Z")
    >>> dates = [e.Literal(text, t.TIMESTAMP) for text in texts]
    >>> for claim in _ascending(dates):
    ...     print(claim.left, "<", claim.right)
    TIMESTAMP '2024-03-01' < TIMESTAMP '2024-03-31'
    TIMESTAMP '2024-03-01' < TIMESTAMP '2024-03-30 00:00:00Z'
    """
    zoned = {term: about for term in terms if (about := nearly(term)) is not None}
    exact = {term: at for term, at in known.items() if isinstance(at, datetime.datetime)}
    for (low, one), (high, other) in permutations((zoned | exact).items(), 2):
        if (low in zoned or high in zoned) and other - one > _FARTHEST:
            yield AtMost(low, high, strict=True)


def _sorted(values: dict[e.Expr, object]) -> Iterator[AtMost]:
    def compare(left: e.Expr, right: e.Expr) -> int:
        one, other = values[left], values[right]
        return bool(compared(">", one, other)) - bool(compared("<", one, other))

    for low, high in pairwise(sorted(values, key=cmp_to_key(compare))):
        strict = compare(low, high) != 0
        yield AtMost(low, high, strict)
        if not strict:
            yield AtMost(high, low)


def _equals(above: Edges) -> dict[e.Expr, int]:
    """A number for each term; those have the same that are known to be at least one another: the strongly
    connected components of the order, found in two walks (Kosaraju)."""
    below: Edges = defaultdict(list)
    for term, others in above.items():
        for other in others:
            below[other].append(term)
    numbers: dict[e.Expr, int] = {}
    for number, start in enumerate(reversed(_left(above))):
        waiting = [start] if start not in numbers else []
        while waiting:
            term = waiting.pop()
            numbers[term] = number
            waiting.extend(other for other in below.get(term, ()) if other not in numbers)
    return numbers


def _left(above: Edges) -> list[e.Expr]:
    """The terms in the order in which a walk that goes as deep as it can leaves them."""
    left: list[e.Expr] = []
    seen: set[e.Expr] = set()
    for start in list(above):
        waiting = [(start, iter(above[start]))] if start not in seen else []
        seen.add(start)
        while waiting:
            others = waiting[-1][1]
            other = next((one for one in others if one not in seen), None)
            if other is None:
                left.append(waiting.pop()[0])
            else:
                seen.add(other)
                waiting.append((other, iter(above.get(other, ()))))
    return left


MAX_CASES = 256
"""How many combinations of alternatives (of OR, of IN) are looked at. Beyond, nothing is found."""


def contradict(
    conditions: Iterable[e.Expr], known: Iterable[Claim] = (), order: Iterable[AtMost] = ()
) -> bool:
    """Whether the conditions are never TRUE together, given what is known. False when that is not clear.

    `order` holds where both sides are not NULL, and does not say that they are not.

    >>> from pattern_examples import query
    >>> def never(text): return contradict([query(f"SEQ(A a, B b) WHERE {text}").pattern.where])
    >>> never("a.x > 5 AND a.x < 3"), never("a.x > 5 AND a.x < 7")
    (True, False)
    >>> never("a.x < b.x AND b.x < a.n AND a.n < a.x"), never("a.n IN (1, 2) AND a.n NOT IN (1, 2)")
    (True, True)
    >>> never("a.n > 1 AND a.n < 2"), never("a.x > 1 AND a.x < 2"), never("a.x IS NULL AND a.x + 1 > b.x")
    (True, False, True)
    """
    all_claims = (*known, *(claim for condition in conditions for claim in claims(condition)))
    return _fail(all_claims, tuple(order), iter(range(MAX_CASES)))


def _fail(all_claims: tuple[Claim, ...], order: tuple[AtMost, ...], budget: Iterator[int]) -> bool:
    """Whether the claims fail, whichever alternative is taken of each `Either`."""
    if next(budget, None) is None:
        return False
    choices = [claim for claim in all_claims if isinstance(claim, Either)]
    facts = tuple(claim for claim in all_claims if not isinstance(claim, Either))
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
            case NotNull(term):
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
    if isinstance(term, e.WholeEvent) and term.event in present:
        return True
    return term in present or (is_constant(term) and value_of(term) is not None)


# What a pattern says about the times of its events: what a SEQ orders is known without a condition.


@dataclass(frozen=True)
class DeclarationPath:
    """Where a variable is declared: the part, and the parts on the way to it with the place of the next."""

    part: p.Pattern
    path: tuple[tuple[p.Pattern, int], ...]


@dataclass(frozen=True)
class EventBoundary:
    """The start of an event, or its `end`, by a clock of this type and unit."""

    event: e.EventRef
    end: bool
    clock: tuple[DataType, str]


def times_in_order(part: p.Pattern, conditions: Iterable[e.Expr], facts: QueryFacts) -> Iterator[AtMost]:
    """What the order of the pattern's parts says about the times that conditions name.

    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B+ b[], AND(C c, D d)) WHERE c.ts > d.ts AND a.ts > c.ts AND b[1].ts > a.ts")
    >>> for claim in times_in_order(match.pattern, [match.pattern.where], QueryFacts(lambda: match)):
    ...     print(claim.left, "<" if claim.strict else "<=", claim.right)
    a.ts < c.ts
    a.ts < d.ts
    a.ts < b[1].ts
    b[1].ts < c.ts
    b[1].ts < d.ts

    A SEQ orders the events of its parts wherever both are bound; also one that is looked for, by EXISTS or
    by `!`, lies between the neighbours of its part. Where one of them is NULL there is no order, but then no
    comparison of their times is TRUE either. Where THEN BY orders events of the same time, the one before is
    not later.
    """
    strict = not facts.query.order_types
    boundaries = times(part, conditions, facts)
    places = _places(part) if len(boundaries) > 1 else {}
    for (left, one), (right, other) in permutations(boundaries.items(), 2):
        if one.clock == other.clock and _precedes(one.event, other.event, places):
            yield AtMost(left, right, strict)
        elif one.event == other.event and other.end > one.end:
            yield AtMost(left, right)


def times(part: p.Pattern, conditions: Iterable[e.Expr], facts: QueryFacts) -> dict[e.Expr, EventBoundary]:
    """The times that conditions name. An event has both: a row without a time is no event."""
    terms = dict.fromkeys(node for condition in conditions for node in walk(condition))
    named = [term for term in terms if isinstance(term, e.EventTime | e.Attribute)]
    places = _places(part) if named else {}
    return {term: time for term in named if (time := _time(term, places, facts))}


def _places(part: p.Pattern) -> dict[str, DeclarationPath]:
    """Where each variable is declared that is declared once: branches of an OR may share some."""
    paths: dict[str, DeclarationPath] = {}
    shared: set[str] = set()
    stack = [DeclarationPath(part, ())]
    while stack:
        place = stack.pop()
        if isinstance(place.part, p.Event | p.Repeat) and place.part.variable:
            shared.update({place.part.variable} & paths.keys())
            paths[place.part.variable] = place
        inner = enumerate(inner_parts(place.part))
        stack.extend(DeclarationPath(one, (*place.path, (place.part, number))) for number, one in inner)
    return {name: place for name, place in paths.items() if name not in shared}


def _time(
    term: e.EventTime | e.Attribute, places: Mapping[str, DeclarationPath], facts: QueryFacts
) -> EventBoundary | None:
    """Which time of which event a term is, if it is one."""
    if term.type == TIMESTAMP_NTZ and facts.query.clock.type == TIMESTAMP:
        return None  # where the session's clock is set forward, a later time of it may be an earlier instant
    place = places.get(_names(term.event)[-1])
    match place and place.part:
        case p.Event(type) | p.Repeat(p.Event(type)):
            names = {member.stream for member in facts.type(type).members}
        case _:
            return None
    streams = [stream for stream in facts.query.streams if stream.name in names]
    unit = streams[0].unit
    for end in (False, True):
        if all(stream.unit == unit and _is_time(term, end, stream) for stream in streams):
            return EventBoundary(term.event, end, (term.type, unit))
    return None


def _is_time(term: e.EventTime | e.Attribute, end: bool, stream: Stream) -> bool:
    """Whether a term gives the start, or the end, of the events of a stream.

    In a possible world an event of an imprecise stream has a time of its own, but its columns keep what
    they hold.
    """
    if isinstance(term, e.EventTime):
        return end == (bare(term.name).lower() == "te")
    column = stream.end if end else stream.start
    return column is not None and stream.latest is None and same(term.name, column)


def _names(reference: e.EventRef) -> tuple[str, ...]:
    """The variables on the way to an event, outermost first: `k` and `a` of `k[1].a`."""
    match reference:
        case e.Variable(name):
            return (name,)
        case e.ListElement(base):
            return _names(base)
        case e.InnerVariable(base, name):
            return (*_names(base), name)
    return ("",)  # `b[]`: many events


def _precedes(left: e.EventRef, right: e.EventRef, places: Mapping[str, DeclarationPath]) -> bool:
    """Whether one event ends before the other starts, in every match that binds both."""
    one, other = places.get(_names(left)[0]), places.get(_names(right)[0])
    match left, right:
        case e.ListElement(base, e.Index(anchor, place)), e.ListElement(list, e.Index(mark, later)) if (
            base == list
        ):
            return anchor == mark and place < later
    if one is None or other is None or one == other:
        return False
    for (part, place), (same_part, later) in zip(one.path, other.path, strict=False):
        assert part is same_part, "ways part at a list"
        if place != later:
            return isinstance(part, p.Seq) and place < later
    return False


# Conditions whose form alone says that they are always, or never, TRUE.


def always(conjunct: e.Expr, part: p.Pattern | None = None, facts: QueryFacts | None = None) -> bool | None:
    """True when a conjunct is TRUE whatever the events are, False when it is never; None when that is not
    clear. With the part that it stands at, the order of the part's events counts too.

    >>> from pattern_examples import query
    >>> def seen(text):
    ...     match = query(text)
    ...     return always(match.pattern.where, match.pattern, QueryFacts(lambda: match))
    >>> seen("A a WHERE a.x = a.x OR a.x IS NULL"), seen("A a WHERE a.x <= 5 OR a.x > 3 OR a.x IS NULL")
    (True, True)
    >>> seen("A a WHERE a.x > 5 AND a.x < 3"), seen("A a WHERE a.n > 5 AND a.x < 3")
    (False, None)
    >>> seen("SEQ(A a, B b) WHERE a.ts < b.ts"), seen("SEQ(A a, B b) WHERE a.ts >= b.ts")
    (True, False)

    An attribute may be NULL, and so may a time, where the event may be absent:

    >>> seen("A a WHERE a.x <= 5 OR a.x > 3"), seen("SEQ(A a, B? b) WHERE a.ts < b.ts")
    (None, None)

    For an empty list a conjunct with `i` is TRUE:

    >>> seen("B+ b[] WHERE b[i].x <> b[i].x"), seen("SEQ(A a, B* b[]) WHERE b[i].x <> b[i].x")
    (False, None)
    """
    condition = simpler(folded(conjunct))
    present: list[NotNull] = []
    order: list[AtMost] = []
    if part is not None and facts is not None:
        present += _present_times(condition, part, facts)
        order += times_in_order(part, [condition], facts)
    if contradict([untrue(condition)], present, order):
        return True
    if _is_checked(conjunct, part) and contradict([condition], present, order):
        return False
    return None


def untrue(condition: e.Expr) -> e.Expr:
    """What is TRUE exactly when the condition is not: when it is FALSE or UNKNOWN.

    >>> from pattern_examples import query
    >>> print(untrue(query("A a WHERE a.x > 1 OR a.n IS NULL").pattern.where))
    (a.x IS NULL OR 1 IS NULL OR a.x <= 1) AND a.n IS NOT NULL
    """
    match spelled_out(condition):
        case e.Literal(value):
            return FALSE if value is True else TRUE
        case e.Conjunction(operands):
            return e.Disjunction(tuple(map(untrue, operands)))
        case e.Disjunction(operands):
            return e.Conjunction(tuple(map(untrue, operands)))
        case e.Binary(op, left, right) as comparison if op in OPPOSITE:
            return e.Disjunction((e.IsNull(left), e.IsNull(right), negated(comparison)))
        case e.IsNull() as test:
            return negated(test)
        case other:
            return e.Disjunction((e.IsNull(other), negated(other)))


def _present_times(condition: e.Expr, part: p.Pattern, facts: QueryFacts) -> Iterator[NotNull]:
    """The times of events that every match of the part has."""
    bound = {spot.part.variable for spot in spots(part) if isinstance(spot.part, p.Event)}
    for term, time in times(part, [condition], facts).items():
        if isinstance(time.event, e.Variable) and time.event.name in bound:
            yield NotNull(term)


def _is_checked(conjunct: e.Expr, part: p.Pattern | None) -> bool:
    """Whether a conjunct is checked at all: one with `i` needs an element."""
    elements, lag = range_of(conjunct)
    lists = [spot.part for spot in spots(part)] if part else []
    long = {node.variable for node in lists if isinstance(node, p.Repeat) and node.least > lag}
    return elements is None or (isinstance(elements, e.Variable) and elements.name in long)


# The least that a part binds: how many events, and how many one after the other.

NOTHING: frozenset[str] = frozenset()


def least_events(part: p.Pattern, dropped: frozenset[str] = NOTHING) -> int:
    """How many events a part binds at least. Those of `dropped` variables do not count.

    >>> from neelc.syntax import pattern
    >>> texts = ("SEQ(A a, !B b, C c)", "AND(A a, OR(B b, SEQ(C c, D d)), E? e)", "SEQ(A a, B b){2} k[]")
    >>> [least_events(pattern(text)) for text in texts]
    [2, 2, 4]
    >>> least_events(pattern("EXISTS b : SEQ(A a, B b)"))
    1
    """
    return _least(part, dropped, sequence=False)


def least_sequence(part: p.Pattern, dropped: frozenset[str] = NOTHING) -> int:
    """How many events that follow each other a part binds at least. The parts of an AND may be simultaneous.

    >>> from neelc.syntax import pattern
    >>> [least_sequence(pattern(text)) for text in ("SEQ(A a, AND(B b, C c), D d)", "AND(A a, B b)")]
    [3, 1]
    """
    return _least(part, dropped, sequence=True)


def _least(part: p.Pattern, dropped: frozenset[str], sequence: bool) -> int:
    match part:
        case p.Event(variable=variable) | p.Repeat(variable=variable) if variable in dropped:
            return 0
        case p.Event():
            return 1
        case p.Repeat(inner, least):
            return least * max(1, _least(inner, dropped, sequence))  # each iteration binds an event
        case p.Exists(variables, inner):
            return _least(inner, dropped.union(variables), sequence)
        case p.Joint(parts):
            counts = [_least(inner, dropped, sequence) for inner in parts]
            return max(counts) if sequence and not isinstance(part, p.Seq) else sum(counts)
        case p.Or(parts):
            return min(_least(inner, dropped, sequence) for inner in parts)
    return 0
