"""Rebuilding parts: a part takes the conditions and windows of a list that is removed, an OR moves out of the
list around it, and the branches that result are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product
from math import prod

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, Literal, conjoin, conjuncts, has_same, names_in
from neelc.ir.node import map_children, transform
from neelc.ir.patterns import (
    Listing,
    Not,
    Optional,
    Or,
    Pattern,
    Window,
    all_parts,
    declared,
    inner_parts,
    may_be_empty,
    satisfiable_by_nothing,
)
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rule import RefusalReason
from neelc.runtime.late_dataclass import dataclass


def constrained(part: Pattern, where: Expr | None, within: Window | None = None) -> Pattern | None:
    """What `AND(part WHERE where) WITHIN within` means, without the AND; None when there is no other way.

    >>> from pattern_examples import query
    >>> outer = query("AND(SEQ(A a, B b) WITHIN 5 WHERE a.x > 1)").pattern
    >>> print(constrained(query("SEQ(A a, B b WHERE a.x > b.x) WITHIN 5").pattern, outer.where))
    SEQ(A a, B b WHERE a.x > b.x AND a.x > 1)

    A condition on an optional part is not checked when the part is absent; one around it is.

    >>> constrained(query("A? a").pattern, outer.where)

    Of two windows over the same events the shorter one counts. A window of time and one of events are two
    things, and a part has room for one.
    """
    if where is None and within is None:
        return part
    if isinstance(part, Optional | Not):
        return None
    window = shorter(part.within, within) if part.within and within else part.within or within
    if window is None and (part.within or within):
        return None
    return replace(part, where=conjoin([part.where, where]), within=window)


def shorter(left: Window, right: Window) -> Window | None:
    """The window that allows less; None when that depends on the events.

    >>> from neelc.ir.types import INT
    >>> minute, second = (Window(Literal(1, INT), unit) for unit in ("MINUTE", "SECOND"))
    >>> print(shorter(minute, second))
    1 SECOND
    >>> print(shorter(minute, Window(Literal(3, INT), "EVENT")))
    None
    """
    if (left.unit == "EVENT") != (right.unit == "EVENT"):
        return None
    return min(left, right, key=_length)


def _length(window: Window) -> int:
    """How much a bound window allows, comparable among windows of one kind."""
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), "a bound window"
    return window.count.value * LENGTHS.get(window.unit or "", 1)


# One part of a pattern in the place of another.


def replaced(root: Pattern, old: Pattern, new: Pattern) -> Pattern:
    """`root` with `new` wherever the very part `old` stands: equal parts elsewhere stay.

    >>> from neelc.syntax import pattern
    >>> root = pattern("SEQ(A a, AND(B b, C c))")
    >>> print(replaced(root, root.parts[1], pattern("D d")))
    SEQ(A a, D d)
    """
    changed = transform(root, lambda node: new if node is old else None)
    assert isinstance(changed, Pattern)
    return changed


# OR moves out of the list around it: what the distributive rules share (NEEL, table III).


def each_choice(part: Listing, choices: Sequence[Sequence[Pattern]]) -> Or:
    """The list once for each choice of one of the alternatives in every place, as branches of an OR. The OR
    takes the conditions and the window of the list: its branches have the list's events."""
    lists = tuple(replace(part, parts=parts, where=None, within=None) for parts in product(*choices))
    return Or(lists, where=part.where, within=part.within, span=part.span)


def distributed(part: Listing, facts: QueryFacts) -> Pattern | RefusalReason | None:
    """The list once for each choice of branches of the ORs directly inside it.

    The number of branches that the pattern has in the end does not depend on the order of such steps; it
    is what the limit is compared with.
    """
    if not facts.any_match or not any(isinstance(inner, Or) for inner in part.parts):
        return None
    choices = [branches_of(inner) for inner in part.parts]
    if not all(choices):
        return None
    reason = too_many(branches(region(facts.query.pattern, part)))
    return RefusalReason(reason) if reason else each_choice(part, choices)


def branches_of(part: Pattern) -> tuple[Pattern, ...]:
    """The branches of an OR, each with the OR's conditions and window; none when one of them cannot take
    these. A part that is not an OR is its own only branch."""
    if not isinstance(part, Or):
        return (part,)
    rebuilt = tuple(constrained(branch, part.where, part.within) for branch in part.parts)
    return tuple(branch for branch in rebuilt if branch is not None) if None not in rebuilt else ()


# How many branches a pattern has, or would have with OR distributed and negations pushed down.


# How large a rewrite may make a query. A rule that would go beyond refuses, and says so.

MAX_BRANCHES = 256
"""How many branches an OR may have that rules make: by distribution, push-down or expansion."""

Count = Callable[[p.Not], int]


def branches(part: p.Pattern, of_negation: Count = lambda negative: 1) -> int:
    """The number of branches with every OR moved to the root. Distribution does not change it.

    What repeats, is optional or negative keeps its ORs to itself; a negation counts as what `of_negation`
    says.

    >>> from pattern_examples import query
    >>> branches(query("SEQ(OR(A a, B b), C c, OR(D d, AND(E e, OR(F f, G g))), !OR(H h, I i), J j)").pattern)
    6
    """
    match part:
        case p.Or(parts):
            return sum(branches(inner, of_negation) for inner in parts)
        case p.Joint(parts):
            return prod(branches(inner, of_negation) for inner in parts)
        case p.Exists(_, inner):
            return branches(inner, of_negation)
        case p.Not():
            return of_negation(part)
    return 1


def too_many(number: int) -> str | None:
    """Why no more than MAX_BRANCHES branches are made."""
    if number <= MAX_BRANCHES:
        return None
    shown = f"{number}" if number < 10**15 else "more than 10^15"
    return f"it would have {shown} branches, and the limit MAX_BRANCHES is {MAX_BRANCHES}"


def region(root: p.Pattern, part: p.Pattern) -> p.Pattern:
    """The part around `part` up to which its ORs can move: the body of a negation, of a repetition or of an
    optional part, or the whole pattern `root`."""
    return _region(root, part, root) or part


def _region(node: p.Pattern, part: p.Pattern, around: p.Pattern) -> p.Pattern | None:
    if node is part:
        return around
    if isinstance(node, p.Event):
        return None
    ends = isinstance(node, p.Not | p.Repeat | p.Optional | p.ClosureGap)
    inside = (_region(inner, part, inner if ends else around) for inner in inner_parts(node))
    return next((place for place in inside if place is not None), None)


def put(outer: p.Pattern, old: p.Pattern, new: p.Pattern) -> p.Pattern:
    """`outer` with `new` in the place of `old`, which is compared by identity."""
    if outer is old:
        return new
    return map_children(outer, lambda child: put(child, old, new) if isinstance(child, p.Pattern) else child)


# What stands in the way of pushing a negation down, and how many cases it makes.

# Parts that do not care how far their scope reaches beyond their own events.


_BEFORE_FIRST = (p.GapReach.FIRST, p.GapReach.UNTIL)


def is_closed(part: p.Pattern, at_end: bool, dropped: frozenset[str] = frozenset()) -> bool:
    """Whether all that a part requires of events at its end, or else at its start, concerns bound events.

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
        case p.Repeat(gaps=gaps) if not at_end and any(gap.reach in _BEFORE_FIRST for gap in gaps):
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
    return too_many(_all_cases(_CountedPattern(whole, facts)))


@dataclass(frozen=True, eq=False)
class _CountedPattern:
    """A pattern whose cases are counted: the key of the cache, since a rule needs the count for each part of
    the pattern. Equal only if the pattern is the same object."""

    pattern: p.Pattern
    facts: QueryFacts

    def __eq__(self, other: object) -> bool:
        query = self.facts.query
        return (
            isinstance(other, _CountedPattern)
            and self.pattern is other.pattern
            and query.types is other.facts.query.types
            and query.strategy == other.facts.query.strategy
        )

    def __hash__(self) -> int:
        return id(self.pattern)


@lru_cache(maxsize=1)
def _all_cases(counted: _CountedPattern) -> int:
    return branches(counted.pattern, lambda negative: cases(negative, counted.facts))
