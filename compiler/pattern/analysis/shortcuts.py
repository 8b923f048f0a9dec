"""Shortcuts: values that must occur elsewhere for an event to matter (NEEL+, 4.2, SIP)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from neelc.ir import patterns as p
from neelc.ir.conditions import conjuncts, names_in
from neelc.ir.expressions import Expr
from neelc.ir.patterns import Listing, inner_parts
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.equalities import equality


@dataclass(frozen=True)
class Shortcut:
    """`outer`, a term of a variable, is compared with `inner`, a term of one beside it or nested beside it.

    An event for the outer variable whose value is not among the values of the events of the inner
    variable's type can be in no match; or, if the part is `negative`, nothing needs to be looked for.
    """

    outer: Expr
    inner: Expr
    negative: bool

    def __str__(self) -> str:
        return f"{self.outer} {'NOT ' * self.negative}IN {self.inner}"


def shortcuts(query: Match) -> tuple[Shortcut, ...]:
    """The predicates of a query by which the values of one event's type can filter those of another.

    NEEL+'s example query 6, where `r` is nested and `i` is not. The thesis has shortcuts for predicates
    between queries and their sub-queries. What is flattened was one before, so parts of one list count too;
    there either side can filter the other, and the statistics decide.

    >>> from pattern_examples import query
    >>> for found in shortcuts(query("SEQ(DELL d, SEQ(RIMM r, CSCO c), INTC i) WHERE r.x = i.x")):
    ...     print(found)
    i.x IN r.x
    >>> print(*shortcuts(query("SEQ(DELL d, RIMM r, INTC i) WHERE r.x = i.x")), sep="; ")
    r.x IN i.x; i.x IN r.x
    >>> print(*shortcuts(query("SEQ(A a, !SEQ(B b, (C c : c.id = a.id)), D d)")))
    a.id NOT IN c.id

    Proof. The condition stands in the region of the outer variable or around it, or in that of an EXISTS, a
    repetition that is not empty, or one negation inside it. If it is not in a negation there is no match
    unless it is TRUE, so the outer value is that of an event of the inner type. In one, a binding of its
    part makes it TRUE; where no event of the inner type has the outer value there is no such binding.

    Not for a condition in a branch of an OR or in an optional part: the match can do without. Under SKIP
    TILL NEXT MATCH an event that fits must be taken, even if that leads nowhere, and where contiguity is
    asked for every event counts: there, only negations have shortcuts.

    >>> shortcuts(query("SEQ(A a, OR(SEQ(B b, (C c : c.id = a.id)), D d))"))
    ()
    """
    any_match = query.strategy == SelectionStrategy.ANY_MATCH
    ways = tuple(_ways(query.pattern, ()))
    events = {name: found[0] for name, found in _events(ways).items() if len(found) == 1}
    found = (shortcut for way in ways for c in conjuncts(way[-1].where) for shortcut in _of(c, way, events))
    return tuple(dict.fromkeys(shortcut for shortcut in found if shortcut.negative or any_match))


Way = tuple[p.Pattern, ...]
"""A part, at the end, and the parts around it, from the whole pattern on."""


def _ways(part: p.Pattern, around: Way) -> Iterator[Way]:
    way = (*around, part)
    yield way
    for inner in inner_parts(part):
        yield from _ways(inner, way)


def _events(ways: Iterable[Way]) -> dict[str | None, list[Way]]:
    """The ways to each variable of an event: several, if branches of an OR share it."""
    found: dict[str | None, list[Way]] = {}
    for way in ways:
        if isinstance(way[-1], p.Event):
            found.setdefault(way[-1].variable, []).append(way)
    return found


def _of(conjunct: Expr, at: Way, events: Mapping[str | None, Way]) -> Iterator[Shortcut]:
    """The shortcuts of a condition on the last part of `at`."""
    equal = equality(conjunct)
    if equal is None:
        return
    for outer, inner in (equal.sides, equal.sides[::-1]):
        way, nested = (events.get(next(iter(names_in(side)), None)) for side in (outer, inner))
        if way is None or nested is None or not _is_beside(nested, way):
            continue
        negations = _negations_between(way, at)
        if negations is not None:
            yield Shortcut(outer, inner, negations > 0)


def _is_beside(inner: Way, outer: Way) -> bool:
    """Whether an event stands in the list that the other event is a part of, or in a list inside it."""
    around, inside = _list_around(outer), _list_around(inner)
    return 0 < len(around) <= len(inside) and _in_common(around, inside) == len(around)


def _list_around(way: Way) -> Way:
    length = max((place for place, part in enumerate(way) if isinstance(part, Listing)), default=-1)
    return way[: length + 1]


def _in_common(one: Way, other: Way) -> int:
    """How many parts around are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left is not right), min(len(one), len(other)))


def _negations_between(way: Way, at: Way) -> int | None:
    """How many negations there are between an event and a condition about it; None if the match, or
    what is negated, can do without the condition."""
    start = max(_in_common(way, at) - 1, 0)
    negations = 0
    for place, part in enumerate(at[start:], start):
        is_last = place == len(at) - 1
        match part:
            case p.Not():
                negations += 1
            case p.Optional() if place > start or not is_last:
                return None
            case p.Or() | p.Repeat(least=0) if not is_last:
                return None
    return negations if negations < 2 else None
