"""The order of values: whether some could be less than themselves, by what is said of them."""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from itertools import pairwise, permutations

from neelc.ir import expr as e
from neelc.ir import types as t
from neelc.ir.typeof import type_of
from neelc.rewrite.claims import AtMost, Differ
from neelc.rewrite.constants import is_constant, nearly, value_of
from neelc.runtime.reference.evaluate import compared

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
    found: list[e.Expr] = []
    seen: set[e.Expr] = set()
    for start in list(above):
        waiting = [(start, iter(above[start]))] if start not in seen else []
        seen.add(start)
        while waiting:
            others = waiting[-1][1]
            other = next((one for one in others if one not in seen), None)
            if other is None:
                found.append(waiting.pop()[0])
            else:
                seen.add(other)
                waiting.append((other, iter(above.get(other, ()))))
    return found
