"""What stands in the way of pushing a negation down, and how many cases it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import prod

from neelc.ir import patterns as p
from neelc.ir.conditions import conjuncts, has_same, names_in
from neelc.ir.expressions import Expr
from neelc.ir.patterns import all_parts, declared, may_be_empty, satisfiable_by_nothing
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import branches, region, too_many

# Parts that do not care how far their scope reaches beyond their own events.


def is_closed(part: p.Pattern, at_end: bool, dropped: frozenset[str] = frozenset()) -> bool:
    """Whether all that a part asks of events at its end, or else at its start, is asked of bound ones.

    If so, whether it is satisfied does not change when its scope is cut on that side, as long as its own
    events stay inside: no negation looks there, and no event is looked for there that EXISTS drops
    (`dropped`).

    >>> from neelc.syntax import pattern
    >>> [is_closed(pattern(text), True) for text in ("A a", "SEQ(A a, !B b)", "SEQ(!B b, A a)", "AND(A, !B)")]
    [True, False, True, False]
    >>> [is_closed(pattern(text), True) for text in ("EXISTS a : SEQ(A a, B b)", "EXISTS b : SEQ(A a, B b)")]
    [True, False]

    What may be absent does not hide what stands before it:

    >>> [is_closed(pattern(text), True) for text in ("SEQ(A a, B? b)", "SEQ(A a, !C c, B? b)")]
    [True, False]
    """
    match part:
        case p.Event(variable=variable) | p.Repeat(variable=variable) if variable in dropped:
            return False
        case p.Event() | p.Repeat(p.Event()):
            return True
        case p.Not():
            return False
        case p.Optional(inner) | p.Repeat(inner):
            return is_closed(inner, at_end, dropped)
        case p.Exists(variables, inner):
            return is_closed(inner, at_end, dropped.union(variables))
        case p.Seq(parts):
            return _is_edge_closed(parts[::-1] if at_end else parts, at_end, dropped)
        case p.AndNeg(parts):  # its negations look between its events only
            return all(is_closed(inner, at_end, dropped) for inner in parts if not isinstance(inner, p.Not))
        case p.And(parts) | p.Or(parts):
            return all(is_closed(inner, at_end, dropped) for inner in parts)
    return False


def _is_edge_closed(parts: tuple[p.Pattern, ...], at_end: bool, dropped: frozenset[str]) -> bool:
    """The same of a SEQ whose parts are listed from that side: up to the first that is surely there."""
    for part in parts:
        if not is_closed(part, at_end, dropped):
            return False
        if not may_be_empty(part):
            return True
    return True


def obstacle_to_sequence(inner: p.Seq, facts: QueryFacts) -> str | None:
    """Why the latest candidates of a negated SEQ do not decide whether it occurs."""
    if not facts.any_match:
        return f"EXISTS has no meaning under {facts.query.strategy}"
    first, *later = inner.parts
    for event in later:
        if not isinstance(event, p.Event):
            return f"{event} is not a single event"
        if facts.may_last(event.type):
            return f"{event.type} events may last, and the latest to end need not be the latest to start"
    if satisfiable_by_nothing(first):
        return f"{first} needs no event"
    if not is_closed(first, at_end=True):
        return f"whether {first} occurs depends on what comes after it"
    return _tie(inner)


def obstacle_to_conjunction(inner: p.And, facts: QueryFacts) -> str | None:
    """Why the parts of a negated AND cannot be looked for one by one."""
    for part in inner.parts:
        if satisfiable_by_nothing(part):
            return f"{part} needs no event"
    for left, right in combinations(inner.parts, 2):
        for one, two in _shared_types(left, right, facts):
            return f"one event could be both {one} and {two}, and it must not be both"
    return _tie(inner)


def _shared_types(left: p.Pattern, right: p.Pattern, facts: QueryFacts) -> Iterator[tuple[p.Event, p.Event]]:
    pairs = product(_events(left), _events(right))
    return ((one, two) for one, two in pairs if facts.may_overlap(one.type, two.type))


def _events(part: p.Pattern) -> list[p.Event]:
    return [node for node in all_parts(part) if isinstance(node, p.Event)]


def _tie(inner: p.Seq | p.And) -> str | None:
    """What ties the parts of a negated list to each other."""
    if inner.within is not None:
        return "its window ties the negated events together"
    if has_same(inner.where):
        return "its [id] ties the negated events together"
    own = [declared(part) for part in inner.parts]
    for condition in conjuncts(inner.where):
        if sum(bool(names_in(condition) & names) for names in own) > 1:
            return f"{condition} ties the negated events together"
    for part in inner.parts:
        for condition in (c for node in all_parts(part) for c in conjuncts(node.where)):
            if names_in(condition) & declared(inner) - declared(part):
                return f"{condition} ties the negated events together"
    return None


def own_conditions(inner: p.Seq | p.And, part: p.Pattern) -> list[Expr]:
    """The conditions of a negated list that are about this part of it. One that names no negated event at
    all decides whether the negation applies: it may stand at any of them, so it stands at all."""
    own = declared(inner)
    return [c for c in conjuncts(inner.where) if names_in(c) & own <= declared(part)]


def loose_same(part: p.Pattern, facts: QueryFacts) -> str | None:
    """Why an `[id]` around the list `part` may tie what a negation in it rejects, instead of comparing it
    with the match: there is no event of the match to compare with."""
    if not may_be_empty(part):
        return None
    around = [node for node in all_parts(facts.query.pattern) if has_same(node.where)]
    if all(node is facts.query.pattern for node in around):
        return None
    return "an [id] ties the negated events together where the part around them binds none"


def cases(negative: p.Not, facts: QueryFacts) -> int:
    """How many branches a negation becomes when it is pushed down as far as it can be."""
    match negative.part:
        case p.Seq(parts) as inner if len(parts) > 1 and obstacle_to_sequence(inner, facts) is None:
            return len(parts)
        case p.And(parts) as inner if len(parts) > 1 and obstacle_to_conjunction(inner, facts) is None:
            return sum(cases(p.Not(part), facts) for part in parts)
        case p.Or(parts):
            return prod(cases(p.Not(part), facts) for part in parts)
    return 1


def too_many_cases(part: p.Pattern, facts: QueryFacts) -> str | None:
    """Why negations around `part` are not pushed down: there would be too many branches in the end."""
    whole = region(facts.query.pattern, part)
    return too_many(_all_cases(_Asked(whole, facts)))


@dataclass(frozen=True, eq=False)
class _Asked:
    """A pattern to count in. Equal only to the same object: a rule asks again for each part of it."""

    pattern: p.Pattern
    facts: QueryFacts

    def __eq__(self, other: object) -> bool:
        query = self.facts.query
        return (
            isinstance(other, _Asked)
            and self.pattern is other.pattern
            and query.types is other.facts.query.types
            and query.strategy == other.facts.query.strategy
        )

    def __hash__(self) -> int:
        return id(self.pattern)


@lru_cache(maxsize=1)
def _all_cases(asked: _Asked) -> int:
    return branches(asked.pattern, lambda negative: cases(negative, asked.facts))
