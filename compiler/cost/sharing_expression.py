"""Expressions that may share work: sequences in normal form, told apart by what they mean, not by names.

NEEL, IV: a query in normal form is a list of expressions, each a SEQ of the components that its matches keep,
with something that must or must not lie in the gaps between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from neelc.ir.logical import Match, Member
from neelc.ir.node import Node
from neelc.ir.pattern import Pattern, Window


@dataclass(frozen=True)
class Context:
    """What must agree before two expressions can share anything.

    `key` are the attributes that `[id]` makes equal on all events. `streams` are the streams of the query
    where a match depends on other events than its own: windows of EVENTS, strategies with an order.
    """

    windows: tuple[Window, ...] = ()
    key: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    strategy: str = "SKIP TILL ANY MATCH"
    streams: tuple[str, ...] = ()


@dataclass(frozen=True)
class Component:
    """A part that a match keeps, with the conditions on nothing but it. Its variables are called v1, v2 ...

    `members` are what the types of its events stand for, in order. Two components are equal when they accept
    the same events in the same context, whatever their variables are called.
    """

    part: Pattern
    members: tuple[tuple[Member, ...], ...]
    context: Context
    text: str = field(compare=False)
    said: Pattern = field(compare=False, repr=False)
    """The part with the variables of the query."""
    query: Match = field(compare=False, repr=False)


@dataclass(frozen=True)
class Constraint:
    """A condition between components, or, with `gap`, what must or must not lie between two of them.

    `needs` are the places of the components that must be known before it can be judged; `shape` calls the
    first of them 1, the second 2 and so on, so that it does not depend on where in a sequence it stands.
    Gap 0 is before the first component, gap 1 after it. What lies before the first or after the last
    component depends on the whole match, by its window.
    """

    shape: Node
    needs: tuple[int, ...]
    gap: int | None
    members: tuple[tuple[Member, ...], ...]
    text: str = field(compare=False)
    said: Node = field(compare=False, repr=False)
    """The condition, or the part in the gap, with the variables of the query."""
    query: Match = field(compare=False, repr=False)

    def moved(self, by: int) -> Constraint:
        """The same constraint in a sequence that begins `by` components later."""
        gap = None if self.gap is None else self.gap - by
        return replace(self, needs=tuple(place - by for place in self.needs), gap=gap)


@dataclass(frozen=True)
class Slice:
    """Adjacent components of an expression with all constraints that they decide by themselves."""

    components: tuple[Component, ...]
    constraints: frozenset[Constraint]

    def __str__(self) -> str:
        return sequence_text(self.components, self.constraints)


@dataclass(frozen=True)
class Expression:
    """A sequence in normal form.

    `variables` are the names that a match gives its events: expressions of one query (`number`) with the same
    components and the same variables have the same matches, which must come out once.
    """

    name: str
    components: tuple[Component, ...]
    constraints: tuple[Constraint, ...]
    variables: tuple[str, ...]
    number: int
    part: Pattern = field(repr=False)

    @property
    def columns(self) -> tuple[Constraint, ...]:
        """What must or must not lie in the gaps."""
        return tuple(constraint for constraint in self.constraints if constraint.gap is not None)

    @property
    def positive(self) -> Slice:
        """The components and the conditions between them, whatever lies in the gaps."""
        return Slice(self.components, frozenset(c for c in self.constraints if c.gap is None))

    def slice(self, start: int, stop: int) -> Slice:
        """The components from `start` up to but not including `stop`.

        >>> from neelc.cost.sharing_expressions import expressions
        >>> from neelc.rewrite.examples import query
        >>> (found,) = expressions(query("SEQ(A a, !B b, C c, !D d, E e)"))
        >>> print(found.slice(0, 2))
        SEQ(A, !B, C)
        >>> found.slice(0, 2) == expressions(query("SEQ(A x, !B y, C z, F f)"))[0].slice(0, 2)
        True
        """
        inside = [c for c in self.constraints if c.needs and start <= c.needs[0] and c.needs[-1] < stop]
        return Slice(self.components[start:stop], frozenset(c.moved(start) for c in inside))

    def __str__(self) -> str:
        return f"{self.name} {self.part}"


def sequence_text(components: tuple[Component, ...], constraints: frozenset[Constraint]) -> str:
    """A SEQ of the components and of what lies in their gaps, without variables."""
    words: list[str] = []
    for gap in range(len(components) + 1):
        words += sorted(constraint.text for constraint in constraints if constraint.gap == gap)
        words += [component.text for component in components[gap : gap + 1]]
    conditions = sorted(constraint.text for constraint in constraints if constraint.gap is None)
    return f"SEQ({', '.join(words)}{' WHERE ' + ' AND '.join(conditions) if conditions else ''})"
