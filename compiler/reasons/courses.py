"""The courses that a match can take, and how far along one of them a run came.

A course is the query with one branch of an OR chosen. Its steps are the positive parts of its SEQ or AND, in
order; any other pattern is one step. "Reached step k" means: the first k steps alone have a match from that
event, negations aside, with all conditions that speak of these steps only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts, names_in
from neelc.ir.logical import Match
from neelc.ir.node import Node, transform
from neelc.ir.parts import declared, inner_parts, may_be_empty
from neelc.ir.show_pattern import as_written
from neelc.reasons.relaxing import conjoined, without
from neelc.reasons.requirements import requirements


@dataclass(frozen=True)
class Course:
    """A query with one way to match, and its steps. `branch` is the branch of OR that it takes, if any."""

    match: Match
    steps: tuple[p.Pattern, ...]
    branch: str | None = None

    def prefix(self, count: int) -> Match:
        """The query of the first `count` steps, without negations.

        >>> from neelc.rewrite.examples import query
        >>> asked = query("SEQ(A a, !B b, C c, D d) WHERE a.x = c.x AND c.x < d.x WITHIN 9 SECONDS")
        >>> course, = courses(asked)
        >>> print(course.prefix(2).pattern)
        SEQ(A a, C c WHERE a.x = c.x)
        """
        later = frozenset(name for step in self.steps[count:] for name in declared(step))
        pattern = self.match.pattern
        if isinstance(pattern, p.Seq | p.And | p.AndNeg):
            pattern = replace(pattern, parts=self.steps[:count])
        kept = replace(self.match, pattern=_without_names(pattern, later))
        return without(kept, [one for one in requirements(kept) if one.kind == "negation"])

    def guarded(self, count: int) -> Course | None:
        """The first `count` steps with the negations between them; None if there are none, or no order.

        >>> from neelc.rewrite.examples import query
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
        is_ordered = not isinstance(self.match.pattern, p.And | p.AndNeg)
        return starters(self.match.pattern if is_ordered else self.steps[0])

    def first(self) -> str | None:
        """The variable of the event that every match of this course starts with, if there is one."""
        step = self.steps[0]
        return step.variable if isinstance(step, p.Event) else None


def courses(match: Match) -> tuple[Course, ...]:
    """One course for each branch of an OR at the top; for an AND, one for each part that may come first.

    >>> from neelc.rewrite.examples import query
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
    """The pattern, or the branches of an OR, each with what is said of the whole."""
    parts = pattern.parts if isinstance(pattern, p.Or | p.And) else ()
    if not isinstance(pattern, p.Or) and len(parts) != 1:
        yield pattern
        return
    for branch in parts:
        if isinstance(branch, p.Not) or (branch.within and pattern.within):
            yield p.And((branch,), where=pattern.where, within=pattern.within)
            continue
        where = conjoined((*conjuncts(branch.where), *conjuncts(pattern.where)))
        yield from _branches(replace(branch, where=where, within=branch.within or pattern.within))


def _steps(pattern: p.Pattern) -> Iterator[tuple[p.Pattern, ...]]:
    positive = tuple(part for part in inner_parts(pattern) if not isinstance(part, p.Not))
    match pattern:
        case p.Seq():
            yield positive
        case p.And() | p.AndNeg():  # their order means nothing: the part of the first event comes first
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
            node, where=conjoined(one for one in conjuncts(node.where) if not names_in(one) & later)
        )

    changed = transform(pattern, change)
    assert isinstance(changed, p.Pattern)
    return changed


def starters(pattern: p.Pattern, dropped: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """The types that an event can have that a match starts with, each with the variable it would be bound to.

    >>> from neelc.parse import pattern
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
        case p.And() | p.AndNeg() | p.Or() | p.Optional():
            for part in inner_parts(pattern):
                yield from starters(part, dropped)
