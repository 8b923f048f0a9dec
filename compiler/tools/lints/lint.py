"""What a lint is, and what it may look at.

A lint looks at a bound query and warns of what is right but most likely not meant. It must be certain of
what it says by the form of the query alone, whatever the events are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, Variable, conjuncts
from neelc.ir.names import same
from neelc.ir.node import Node, walk
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.program import Match, Stream
from neelc.pattern.analysis.regions import QueryFacts, is_member, range_of, region_conjuncts, spots
from neelc.pattern.analysis.truth import AtMost, always, contradict, simpler, times_in_order
from neelc.scalar.evaluate_constants import folded
from neelc.source import Source, Span

# Which terms of a condition are times of events.

Time = e.Attribute | e.EventTime


def times_in(condition: e.Expr, streams: Sequence[Stream]) -> frozenset[Time]:
    """The terms that hold a time of an event, if that is of one of the streams that keep it in such a column.

    >>> from pattern_examples import query
    >>> linted = query("SEQ(A a, B b) WHERE b.ts - a.ts < a.n")
    >>> sorted(map(str, times_in(linted.pattern.where, linted.streams)))
    ['a.ts', 'b.ts']
    """
    columns = [
        column
        for stream in streams
        for column in (stream.start, stream.end, stream.latest)
        if column is not None
    ]
    return frozenset(
        node
        for node in walk(condition)
        if isinstance(node, e.EventTime)
        or (isinstance(node, e.Attribute) and any(same(node.name, column) for column in columns))
    )


# Conditions that cannot be TRUE together, and why.

T = TypeVar("T")


@dataclass(frozen=True)
class Clash:
    """Conditions that are never TRUE together; without any one of them they may be.

    The last one is the one to point at: the last in the text of those that belong to `region`, which is the
    part that has no match therefore. `order` is what SEQ says about times, if they clash only with that.
    """

    conditions: tuple[Expr, ...]
    order: tuple[AtMost, ...]
    region: p.Pattern


def clashes(query: Match) -> Iterator[Clash]:
    """All that clashes in a query, one after the other.

    >>> from lint_examples import linted
    >>> text = "SEQ(A a, !(B b : a.x < 3), C c) WHERE a.x > 5 AND c.ts <= a.ts AND c.n = NULL"
    >>> for clash in clashes(linted(text).match):
    ...     print(*clash.conditions, *(f"{claim.left} < {claim.right}" for claim in clash.order), sep=", ")
    c.ts <= a.ts, a.ts < c.ts
    c.n = NULL
    a.x > 5, a.x < 3
    """
    return _Search(query, QueryFacts(lambda: query)).region(query.pattern)


@dataclass(frozen=True)
class _Search:
    """What is known around a part: conditions, and for lists how many elements they have at least."""

    query: Match
    facts: QueryFacts
    known: tuple[Expr, ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)

    def region(self, part: p.Pattern) -> Iterator[Clash]:
        """The clashes in a region, `part` being its root, and in those below it."""
        lists = {
            spot.part.variable: spot.part.least
            for spot in spots(part)
            if isinstance(spot.part, p.Repeat) and spot.part.variable
        }
        inside = replace(self, least={**self.least, **lists})
        own = sorted((one for one in region_conjuncts(part) if one not in self.known), key=_place)
        left = [condition for condition in (*self.known, *own) if inside.is_asked(condition)]
        while own and (found := inside.clash(left, part)):
            yield found
            left.remove(found.conditions[-1])  # the others may clash as well
        yield from replace(inside, known=tuple(left)).below(part)

    def below(self, part: p.Pattern) -> Iterator[Clash]:
        for inner in inner_parts(part):
            together = isinstance(part, p.Joint) and is_member(inner)
            yield from self.below(inner) if together else self.region(inner)

    def is_asked(self, condition: Expr) -> bool:
        """Whether a condition is evaluated in every match; one with `i` needs an element."""
        elements, lag = range_of(condition)
        if elements is None:
            return True
        return isinstance(elements, Variable) and self.least.get(elements.name, 0) > lag

    def clash(self, conditions: Sequence[Expr], region: p.Pattern) -> Clash | None:
        """One of the clashes there are, a single condition that is never TRUE before others."""
        if not self.fails(conditions):
            return None
        single = next((one for one in conditions if self.fails([one])), None)
        least = [single] if single else _needed(conditions, self.fails)
        if contradict(map(_plain, least)):
            return Clash(tuple(least), (), region)
        order = self.order(least)
        needed = _needed(order, lambda claims: contradict(map(_plain, least), order=claims))
        return Clash(tuple(least), tuple(needed), region)

    def fails(self, conditions: Sequence[Expr]) -> bool:
        return contradict(map(_plain, conditions), order=self.order(conditions))

    def order(self, conditions: Sequence[Expr]) -> tuple[AtMost, ...]:
        """What the pattern says about the times that conditions speak of."""
        timed = [one for one in conditions if times_in(one, self.query.streams)]
        return tuple(times_in_order(self.query.pattern, timed, self.facts)) if timed else ()


def _plain(condition: Expr) -> Expr:
    return simpler(folded(condition))


def _place(condition: Expr) -> int:
    return condition.span.start if condition.span else 0


def _needed(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Some of the items that fail together, and would not without any one of them.

    >>> _needed([3, 1, 4, 1, 5, 9], lambda items: sum(items) > 9)
    [5, 9]
    """
    kept = list(items)
    for item in items:
        without = [other for other in kept if other is not item]
        if len(without) < len(kept) and fails(without):
            kept = without
    return kept


MAX_TEXT = 60


@dataclass(frozen=True)
class LintedQuery:
    """A bound query, and the text it was written in."""

    match: Match
    source: Source

    @cached_property
    def facts(self) -> QueryFacts:
        return QueryFacts(lambda: self.match)

    @cached_property
    def conditions(self) -> tuple[tuple[e.Expr, p.Pattern], ...]:
        """All conjuncts of the pattern, each with the part it stands at; `[id]` is not one of them."""
        return tuple(
            (conjunct, part)
            for part in all_parts(self.match.pattern)
            for conjunct in conjuncts(part.where)
            if not isinstance(conjunct, e.SameAttributes)
        )

    @cached_property
    def clashes(self) -> tuple[Clash, ...]:
        """What cannot be TRUE together."""
        return tuple(clashes(self.match))

    def is_always_true(self, conjunct: e.Expr, part: p.Pattern) -> bool:
        """Whether a conjunct excludes nothing. The part it stands at matters only for times."""
        if times_in(conjunct, self.match.streams):
            return always(conjunct, part, self.facts) is True
        return always(conjunct) is True

    def warning(self, code: str, message: str, place: Node | None, hint: str | None = None) -> Diagnostic:
        """A warning that points at a node of the query, or at the whole query if that has no place."""
        span = (place and place.span) or self.match.pattern.span or self.match.span or Span(0, 1)
        return Diagnostic(code, message, span, hint)

    def text(self, node: Node) -> str:
        """A node as it was written, in one line that is not too long."""
        written = self.source.text[node.span.start : node.span.end] if node.span else ""
        text = " ".join(written.split()) or str(node)
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."

    def has_parameter(self, node: Node) -> bool:
        """Whether a value in it came from outside: with another one it might say something else."""
        spans = (inner.span for inner in walk(node) if isinstance(inner, e.Literal | e.Interval))
        return any(self.source.text[span.start : span.start + 1] == ":" for span in spans if span)


Lint = Callable[[LintedQuery], Iterator[Diagnostic]]


# What it means for a query that a part of it has no match.


def consequence(part: p.Pattern, linted: LintedQuery) -> str:
    """What becomes of a query, if nothing satisfies one of its parts.

    >>> from lint_examples import linted
    >>> query = linted("SEQ(A a, EXISTS b : B b, OR(C c, D d), !SEQ(E e, F f), G? g) WITHIN 9")
    >>> _, b, c, e, g = query.match.pattern.parts
    >>> consequence(query.match.pattern, query), consequence(b.part, query)
    ('the query finds nothing', 'the query finds nothing')
    >>> consequence(c.parts[1], query), consequence(e.part, query), consequence(g, query)
    ('this branch finds nothing', 'the negative part excludes nothing', 'this part is always absent')
    >>> twice = linted("SEQ(A a, !!(B b : b.x > 1), C c)")
    >>> consequence(twice.match.pattern.parts[1].part.part, twice)
    'the query finds nothing'
    """
    way = _way(linted.match.pattern, part)
    while way:
        match way:
            case [*around, p.Not(), p.Not()]:  # `!!q` asks for q
                way = around
                continue
            case [*_, p.Not()]:
                return "the negative part excludes nothing"
            case [*_, p.Or(), _]:
                return "this branch finds nothing"
            case [*_, p.Optional() | p.Repeat(least=0)]:
                return "this part is always absent"
        way = way[:-1]
    return "the query finds nothing"


def _way(whole: p.Pattern, part: p.Pattern) -> list[p.Pattern]:
    """The parts from the whole pattern down to one of its parts."""
    if whole is part:
        return [whole]
    for inner in inner_parts(whole):
        if found := _way(inner, part):
            return [whole, *found]
    return []
