"""The courses that a match can take, and how far along one of them a run came.

A course is the query with one branch of an OR chosen. Its steps are the positive parts of its SEQ or AND, in
order; any other pattern is one step. "Reached step k" means: the first k steps alone have a match from that
event, negations aside, with all conditions that speak of these steps only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import (
    Aggregate,
    Attribute,
    ElementAccess,
    EventTime,
    Expr,
    Field,
    SameAttributes,
    names_in,
    written_conjuncts,
)
from neelc.ir.node import Node, children, transform
from neelc.ir.patterns import declared, inner_parts, may_be_empty
from neelc.ir.program import Match
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Binding, EvaluationContext, ReferenceEvent, attribute, bound_events
from neelc.runtime.reference.question import (
    ELEMENT,
    ReferenceQuery,
    condition,
    holds_at,
    iteration,
    places_of,
)
from neelc.scalar.type_of import type_of
from neelc.syntax.print_patterns import as_written
from neelc.tools.why.model import shown
from neelc.tools.why.requirements import Path, Requirement, conjoined, requirements, without


@dataclass(frozen=True)
class Course:
    """A query with one way to match, and its steps. `branch` is the branch of OR that it takes, if any."""

    match: Match
    steps: tuple[p.Pattern, ...]
    branch: str | None = None

    def prefix(self, count: int) -> Match:
        """The query of the first `count` steps, without negations.

        >>> from pattern_examples import query
        >>> example = query("SEQ(A a, !B b, C c, D d) WHERE a.x = c.x AND c.x < d.x WITHIN 9 SECONDS")
        >>> course, = courses(example)
        >>> print(course.prefix(2).pattern)
        SEQ(A a, C c WHERE a.x = c.x)
        """
        later = frozenset(name for step in self.steps[count:] for name in declared(step))
        pattern = self.match.pattern
        if isinstance(pattern, p.Joint):
            pattern = replace(pattern, parts=self.steps[:count])
        kept = replace(self.match, pattern=_without_names(pattern, later))
        return without(kept, [one for one in requirements(kept) if one.kind == "negation"])

    def guarded(self, count: int) -> Course | None:
        """The first `count` steps with the negations between them; None if there are none, or no order.

        >>> from pattern_examples import query
        >>> course, = courses(query("SEQ(A a, !B b, C c, !D d, E e)"))
        >>> print(course.guarded(2).match.pattern, course.guarded(1))
        SEQ(A a, !B b, C c) None
        """
        pattern = self.match.pattern
        if not isinstance(pattern, p.Seq):
            return None
        last = pattern.parts.index(self.steps[count - 1]) + 1 if count else 0
        parts = pattern.parts[:last]
        if not any(isinstance(part, p.Not) for part in parts):
            return None
        later = frozenset(name for step in self.steps[count:] for name in declared(step))
        guarded = _without_names(replace(pattern, parts=parts), later)
        return Course(replace(self.match, pattern=guarded), self.steps[:count], self.branch)

    def counts(self) -> Iterator[int]:
        """How many steps a match can have come: from the first that must bind an event on."""
        needed = (place for place, step in enumerate(self.steps, 1) if not may_be_empty(step))
        return iter(range(next(needed, len(self.steps)), len(self.steps) + 1))

    def starters(self) -> Iterator[tuple[str, str]]:
        """The types that an event can have that a match of this course starts with."""
        pattern = self.match.pattern
        is_ordered = isinstance(pattern, p.Seq) or not isinstance(pattern, p.Joint)
        return starters(pattern if is_ordered else self.steps[0])

    def first(self) -> str | None:
        """The variable of the event that every match of this course starts with, if there is one."""
        step = self.steps[0]
        return step.variable if isinstance(step, p.Event) else None


def courses(match: Match) -> tuple[Course, ...]:
    """One course for each branch of an OR at the top; for an AND, one for each part that may come first.

    >>> from pattern_examples import query
    >>> for course in courses(query("OR(SEQ(A a, B b), AND(C c, D d)) WITHIN 9 SECONDS")):
    ...     print(*course.steps, sep=", ")
    A a, B b
    C c, D d
    D d, C c
    """
    found = tuple(_branches(match.pattern))
    return tuple(
        Course(replace(match, pattern=branch), steps, str(as_written(branch)) if len(found) > 1 else None)
        for branch in found
        for steps in _steps(branch)
    )


def _branches(pattern: p.Pattern) -> Iterator[p.Pattern]:
    """The pattern, or the branches of an OR, each with the conditions and window of the whole."""
    parts = pattern.parts if isinstance(pattern, p.Or | p.And) else ()
    if not isinstance(pattern, p.Or) and len(parts) != 1:
        yield pattern
        return
    for branch in parts:
        if isinstance(branch, p.Not) or (branch.within and pattern.within):
            yield p.And((branch,), where=pattern.where, within=pattern.within)
            continue
        where = conjoined((*written_conjuncts(branch.where), *written_conjuncts(pattern.where)))
        yield from _branches(replace(branch, where=where, within=branch.within or pattern.within))


def _steps(pattern: p.Pattern) -> Iterator[tuple[p.Pattern, ...]]:
    positive = tuple(part for part in inner_parts(pattern) if not isinstance(part, p.Not))
    match pattern:
        case p.Seq():
            yield positive
        case p.Joint():  # their order means nothing: the part of the first event comes first
            for place, part in enumerate(positive):
                yield (part, *positive[:place], *positive[place + 1 :])
        case _:
            yield (pattern,)


def _without_names(pattern: p.Pattern, later: frozenset[str]) -> p.Pattern:
    """A pattern without the conditions that speak of variables still to come."""

    def change(node: Node) -> Node | None:
        if not isinstance(node, p.Pattern) or not names_in(node.where) & later:
            return None
        return replace(
            node, where=conjoined(one for one in written_conjuncts(node.where) if not names_in(one) & later)
        )

    changed = transform(pattern, change)
    assert isinstance(changed, p.Pattern)
    return changed


def starters(pattern: p.Pattern, dropped: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """The types that an event can have that a match starts with, each with the variable it would be bound to.

    >>> from neelc.syntax import pattern
    >>> list(starters(pattern("SEQ(!X x, A? a, OR(B b, C+ c[]), D d)")))
    [('A', 'a'), ('B', 'b'), ('C', 'c')]
    """
    match pattern:
        case p.Event(type, variable):
            if variable not in dropped:
                yield type, variable or type
        case p.Repeat(part, variable=variable) if variable not in dropped:
            yield from ((type, variable or name) for type, name in starters(part))
        case p.Exists(variables, part):
            yield from starters(part, dropped.union(variables))
        case p.Seq(parts):
            for part in (part for part in parts if not isinstance(part, p.Not)):
                found = list(starters(part, dropped))
                yield from found
                if found and not may_be_empty(part):
                    return
        case p.Listing() | p.Optional():
            for part in inner_parts(pattern):
                yield from starters(part, dropped)


# What a requirement is checked with in a binding: which part, in which iteration, with which values.

Values = tuple[tuple[str, str], ...]
"""Names and the texts of what they stand for."""


def part_at(pattern: p.Pattern, path: Path) -> p.Pattern:
    """The part that a path leads to."""
    for place in path:
        pattern = list(inner_parts(pattern))[place]
    return pattern


def views(pattern: p.Pattern, path: Path, binding: Binding) -> Iterator[Binding]:
    """What the part at a path is checked with: the binding, once per iteration of the closures around it."""
    if not path:
        yield binding
        return
    inner = list(inner_parts(pattern))[path[0]]
    if not isinstance(pattern, p.Repeat):
        yield from views(inner, path[1:], binding)
        return
    elements = binding.get(pattern.variable or ELEMENT)
    for element in elements if isinstance(elements, tuple) else ():
        yield from views(inner, path[1:], {**binding, **iteration(pattern, element)})


def values(match: Match, requirement: Requirement, binding: Binding) -> Values:
    """The values that a condition is checked with: where it fails, else where it applies, `b[i-1]`
    not before the second element.

    >>> from pattern_examples import query
    >>> from neelc.tools.why.requirements import requirements
    >>> example = query("SEQ(A a, B+ b[]) WHERE b[i].x > a.x")
    >>> numbers = enumerate([5.0, 6.0, 3.0])
    >>> a, b, c = (ReferenceEvent("S", n, "A", n, n, {"x": x}, (n, n)) for n, x in numbers)
    >>> values(example, requirements(example)[0], {"a": a, "b": (b, c)})
    (('i', '2'), ('b[i].x', '3.0'), ('a.x', '5.0'))
    """
    pattern, path = match.pattern, requirement.path or ()
    if requirement.kind in ("same", "partition"):
        names = (
            requirement.expression.attributes if isinstance(requirement.expression, SameAttributes) else ()
        )
        events = [event for view in views(pattern, path, binding) for event in bound_events(view)]
        return _values_of_attributes(names or match.partition, events)
    assert requirement.expression is not None, "a condition has an expression"
    context = checked_in(match, requirement, binding)
    if context is None:
        return ()
    index = () if context.current is None else (("i", str(context.current + 1)),)
    return (*index, *dict.fromkeys(_values_in(requirement.expression, context)))


def checked_in(match: Match, requirement: Requirement, binding: Binding) -> EvaluationContext | None:
    """Where a condition fails, else where it applies; None if it does nowhere."""
    assert requirement.expression is not None, "a condition has an expression"
    pattern, path = match.pattern, requirement.path or ()
    analyzed = condition(requirement.expression)
    found = [(view, place) for view in views(pattern, path, binding) for place in places_of(analyzed, view)]
    failing = [(view, place) for view, place in found if not holds_at(analyzed, view, place)]
    applicable = [(view, place) for view, place in found if place is None or place >= analyzed.lag]
    return next((EvaluationContext(view, place) for view, place in failing or applicable or found), None)


def _values_of_attributes(names: Sequence[str], events: Sequence[ReferenceEvent]) -> Values:
    texts = {name: dict.fromkeys(shown(attribute(event, name)) for event in events) for name in names}
    return tuple((name, " and ".join(found)) for name, found in texts.items())


def _values_in(expression: Expr, context: EvaluationContext) -> Iterator[tuple[str, str]]:
    if isinstance(expression, Attribute | EventTime | Field | ElementAccess | Aggregate):
        yield str(expression), shown(evaluate(expression, context), type_of(expression))
        return
    for child in children(expression):
        if isinstance(child, Expr):
            yield from _values_in(child, context)


def size(query: ReferenceQuery, requirement: Requirement, binding: Binding) -> int:
    """How large the window of a requirement would have to be: nanoseconds, or a number of events."""
    assert requirement.window is not None, "a window"
    if requirement.path is None:
        parts = [tuple(bound_events(binding))]
    else:
        part = part_at(query.match.pattern, requirement.path)
        parts = [
            query.events_in(part, view) for view in views(query.match.pattern, requirement.path, binding)
        ]
    return max((_size(query, requirement.window, events) for events in parts if events), default=0)


def _size(query: ReferenceQuery, window: p.Window, events: Sequence[ReferenceEvent]) -> int:
    start, end = min(event.start for event in events), max(event.end for event in events)
    if window.unit != "EVENT":
        return end - start
    starts = query.starts(events[0])
    return bisect_right(starts, end) - bisect_left(starts, start)
