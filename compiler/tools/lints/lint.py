"""What a lint is, and what it may look at.

A lint looks at a bound query and warns of what is right but most likely not meant. It must be certain of
what it says by the form of the query alone, whatever the events are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import Recognize
from neelc.ir.end_points import names_between
from neelc.ir.expressions import Expr, Variable, conjuncts, written_conjuncts
from neelc.ir.names import bare, same
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.program import Match, Stream
from neelc.pattern.analysis.regions import QueryFacts, is_member, range_of, region_conjuncts, spots
from neelc.pattern.analysis.truth import AtMost, always, contradict, simpler, times_in_order
from neelc.runtime.late_dataclass import dataclass
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
        least = [single] if single else minimal(conditions, self.fails)
        if contradict(map(plain, least)):
            return Clash(tuple(least), (), region)
        order = self.order(least)
        needed = minimal(order, lambda claims: contradict(map(plain, least), order=claims))
        return Clash(tuple(least), tuple(needed), region)

    def fails(self, conditions: Sequence[Expr]) -> bool:
        return contradict(map(plain, conditions), order=self.order(conditions))

    def order(self, conditions: Sequence[Expr]) -> tuple[AtMost, ...]:
        """What the pattern says about the times that conditions speak of."""
        timed = [one for one in conditions if times_in(one, self.query.streams)]
        return tuple(times_in_order(self.query.pattern, timed, self.facts)) if timed else ()


def plain(condition: Expr) -> Expr:
    """The form in which conditions are compared."""
    return simpler(folded(condition))


def _place(condition: Expr) -> int:
    return condition.span.start if condition.span else 0


def minimal(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Some of the items that fail together, and would not without any one of them.

    >>> minimal([3, 1, 4, 1, 5, 9], lambda items: sum(items) > 9)
    [5, 9]
    """
    kept = list(items)
    for item in items:
        without = [other for other in kept if other is not item]
        if len(without) < len(kept) and fails(without):
            kept = without
    return kept


MAX_TEXT = 60


class WrittenText:
    """What is looked at together with the text it was written in."""

    source: Source

    def text(self, node: Node) -> str:
        """A node as it was written, in one line that is not too long."""
        written = self.source.text[node.span.start : node.span.end] if node.span else ""
        text = " ".join(written.split()) or str(node)
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."

    def has_parameter(self, node: Node) -> bool:
        """Whether a value in it came from outside: with another one it might say something else."""
        spans = (inner.span for inner in walk(node) if isinstance(inner, e.Literal | e.Interval))
        return any(self.source.text[span.start : span.start + 1] == ":" for span in spans if span)


@dataclass(frozen=True)
class LintedQuery(WrittenText):
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
            for conjunct in written_conjuncts(part.where)
            if not isinstance(conjunct, e.SameAttributes)
        )

    @cached_property
    def clashes(self) -> tuple[Clash, ...]:
        """What cannot be TRUE together, but for relations that events cannot have: those say why."""
        impossible = {one.span for _, one in self.impossible_relations}
        return tuple(
            clash
            for clash in clashes(self.match)
            if not impossible.intersection(node.span for one in clash.conditions for node in walk(one))
        )

    @cached_property
    def impossible_relations(self) -> tuple[tuple[p.Pattern, e.RelatedEvents], ...]:
        """The relations that two events cannot have, because one of them or both are points; each with the
        part it stands at."""
        return tuple(
            (part, node)
            for part in all_parts(self.match.pattern)
            if part.where is not None
            for node in walk(part.where)
            if isinstance(node, e.RelatedEvents) and node.relation not in self.relations_of(node)
        )

    def relations_of(self, node: e.RelatedEvents) -> tuple[str, ...]:
        """The relations that two events can have."""
        return names_between(self.may_last(node.left), self.may_last(node.right))

    def may_last(self, event: e.EventRef) -> bool:
        """Whether an event may end after it starts."""
        names = [node.name for node in walk(event) if isinstance(node, Variable)]
        if isinstance(event, e.InnerVariable):
            names = [event.name]
        types = [
            kind
            for part in all_parts(self.match.pattern)
            for kind, variable in _declared_events(part)
            if variable in names
        ]
        return not types or any(map(self.facts.may_last, types))

    def written(self, part: p.Pattern) -> tuple[Expr, ...]:
        """The conjuncts of a part as they were written."""
        return written_conjuncts(part.where)

    def others(self, clash: Clash) -> tuple[str, ...]:
        """The texts of the conditions that the last one clashes with. Those of one relation have one text."""
        *others, last = map(self.text, clash.conditions)
        return tuple(text for text in dict.fromkeys(others) if text != last)

    def is_always_true(self, conjunct: e.Expr, part: p.Pattern) -> bool:
        """Whether a conjunct excludes nothing. The part it stands at matters only for times."""
        if times_in(conjunct, self.match.streams):
            return always(conjunct, part, self.facts) is True
        return always(conjunct) is True

    def warning(self, code: str, message: str, place: Node | None, hint: str | None = None) -> Diagnostic:
        """A warning that points at a node of the query, or at the whole query if that has no place."""
        span = (place and place.span) or self.match.pattern.span or self.match.span or Span(0, 1)
        return Diagnostic(code, message, span, hint)


def _declared_events(part: p.Pattern) -> Iterator[tuple[str, str | None]]:
    """The type of the events that a part binds itself, and the variable."""
    match part:
        case p.Event(kind, variable) | p.Repeat(p.Event(kind), variable=variable):
            yield kind, variable


Lint = Callable[[LintedQuery], Iterator[Diagnostic]]


# MATCH_RECOGNIZE: one clause of a query, and what is certain about the rows of its matches.


MOST_VALUES, MOST_PARTS = 100, 500
"""The most conditions, and values in them, and the most parts of a pattern, that are looked at."""


@dataclass(frozen=True)
class LintedClause(WrittenText):
    """A bound MATCH_RECOGNIZE clause, and the text of the script it stands in."""

    clause: Recognize
    source: Source

    @cached_property
    def conditions(self) -> dict[str, tuple[Expr, ...]]:
        """The conjuncts of the conditions in DEFINE, by variable."""
        return {one.variable: tuple(conjuncts(one.condition)) for one in self.clause.definitions}

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern."""
        return tuple(
            {node.name: None for node in walk(self.clause.pattern) if isinstance(node, r.RowVariable)}
        )

    def name(self, variable: str) -> str:
        """How a message names a variable."""
        return f"`{bare(self.spelled(variable))}`"

    def spelled(self, variable: str) -> str:
        """A variable as the pattern writes it."""
        nodes = (node for node in walk(self.clause.pattern) if isinstance(node, r.RowVariable))
        return next((self.text(node) for node in nodes if node.name == variable), variable)

    @cached_property
    def is_small(self) -> bool:
        """Whether it may have been written by hand: what looks at all pairs of something need not be fast."""
        values = sum(isinstance(node, e.RowValue) for one in self.clause.definitions for node in walk(one))
        conditions = sum(map(len, self.conditions.values()))
        return (
            max(values, conditions) <= MOST_VALUES and sum(1 for _ in walk(self.clause.pattern)) <= MOST_PARTS
        )

    def warning(self, code: str, message: str, place: Node, hint: str | None = None) -> Diagnostic:
        """A warning that points at a node of the clause, or at the whole clause if that has no place."""
        return Diagnostic(code, message, place.span or self.clause.span or Span(0, 1), hint)

    def no_row_matches(self, variable: str) -> str:
        """What becomes of the clause if a condition is never TRUE.

        >>> from lint_examples import linted_clause
        >>> clause = linted_clause("PATTERN (A (B | C)) DEFINE A AS x > 1, B AS x < 1")
        >>> clause.no_row_matches("A"), clause.no_row_matches("B")
        ('the clause finds nothing', 'no row matches `B`')
        """
        if _is_in_every_match(variable, self.clause.pattern):
            return "the clause finds nothing"
        return f"no row matches {self.name(variable)}"


RowLint = Callable[[LintedClause], Iterator[Diagnostic]]


def of_current_row(condition: Expr, variable: str) -> Expr:
    """A condition of a variable in a form to compare: in the condition of B, `B.x` and `x` are the same, the
    value of the row that is tested.

    >>> from lint_examples import linted_clause
    >>> (condition,) = linted_clause("PATTERN (B) DEFINE B AS B.x > LAST(x)").conditions["B"]
    >>> found = of_current_row(condition, "B")
    >>> found.left == found.right
    True
    """

    def change(node: Node) -> Node | None:
        if isinstance(node, e.AtRow) and variable in node.variables and is_last(node):
            return replace(node, variables=())
        return None

    changed = transform(condition, change)
    assert isinstance(changed, Expr)
    return plain(changed)


def is_last(value: e.AtRow) -> bool:
    """Whether the last of the rows is meant, none before it."""
    return value.anchor == "LAST" and value.place == 0


def own_rows(condition: Expr, variable: str) -> Iterator[e.AtRow]:
    """The values that name the variable itself, as `B.x` in the condition of B: those of the row that is
    tested, where the row before it may be intended."""
    for node in walk(condition):
        if isinstance(node, e.AtRow) and variable in node.variables and is_last(node) and not node.shift:
            yield node


def itself_hint(conditions: Sequence[Expr], variable: str, linted: LintedClause) -> str | None:
    """A way out where a condition compares a row with itself."""
    for value in (value for one in conditions for value in own_rows(one, variable)):
        where = f"in the condition of {linted.name(variable)}, `{linted.text(value)}` is the row being tested"
        if isinstance(value.argument, e.Attribute):
            where += f"; PREV({value.argument.name}) is the row before"
        return where
    return None


def most_rows(pattern: r.RowPattern, variables: Sequence[str]) -> float:
    """How many rows of a match are mapped to one of the variables at most.

    >>> from lint_examples import linted_clause
    >>> pattern = linted_clause("PATTERN (A (B | C B){1,3} D+)").clause.pattern
    >>> [most_rows(pattern, names) for names in ("A", "B", "BC", "D")]
    [1, 3, 6, inf]
    """
    match pattern:
        case r.RowVariable(name):
            return int(name in variables)
        case r.RowSequence(parts) | r.RowPermute(parts):
            return sum(most_rows(part, variables) for part in parts)
        case r.RowAlternation(parts):
            return max(most_rows(part, variables) for part in parts)
        case r.RowRepeat(part, _, most):
            return _times(most_rows(part, variables), most)
        case r.RowExclusion(part):
            return most_rows(part, variables)
    return 0


def most_rows_before(pattern: r.RowPattern, variables: Sequence[str], at: str) -> float | None:
    """How many rows are mapped to one of the variables, at most, before a row that is mapped to `at`; None if
    no row is.

    >>> from lint_examples import linted_clause
    >>> pattern = linted_clause("PATTERN (A (B | C B){1,3} D+)").clause.pattern
    >>> [most_rows_before(pattern, *names) for names in ("AB", "BA", "BC", "DD")]
    [1, 0, 2, inf]
    """
    match pattern:
        case r.RowVariable(name):
            return 0 if name == at else None
        case r.RowExclusion(part):
            return most_rows_before(part, variables, at)
        case r.RowRepeat(part, _, most):
            inside = most_rows_before(part, variables, at)
            others = None if most is None else max(most - 1, 0)
            return None if inside is None else inside + _times(most_rows(part, variables), others)
        case r.RowSequence(parts) | r.RowAlternation(parts) | r.RowPermute(parts):
            rows = [most_rows(part, variables) for part in parts]
            inner = [most_rows_before(part, variables, at) for part in parts]
            before = [_before(pattern, rows, index) for index in range(len(parts))]
            found = (one + earlier for one, earlier in zip(inner, before, strict=True) if one is not None)
            return max(found, default=None)
    return None


def _before(pattern: r.RowPattern, rows: Sequence[float], index: int) -> float:
    """How many rows parts take before one of them, at most; the others of PERMUTE may all come before."""
    if isinstance(pattern, r.RowAlternation):
        return 0
    return sum(rows[:index]) + (sum(rows[index + 1 :]) if isinstance(pattern, r.RowPermute) else 0)


def _times(rows: float, most: int | None) -> float:
    return 0 if rows == 0 or most == 0 else math.inf if most is None else rows * most


def _is_in_every_match(variable: str, pattern: r.RowPattern) -> bool:
    match pattern:
        case r.RowVariable(name):
            return name == variable
        case r.RowSequence(parts) | r.RowPermute(parts):
            return any(_is_in_every_match(variable, part) for part in parts)
        case r.RowAlternation(parts):
            return all(_is_in_every_match(variable, part) for part in parts)
        case r.RowRepeat(part, least):
            return least > 0 and _is_in_every_match(variable, part)
        case r.RowExclusion(part):
            return _is_in_every_match(variable, part)
    return False


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
