"""The components of a pattern: the places where it takes an event, negative ones included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.conjuncts import names_in
from neelc.ir.logical import EventType, Match
from neelc.ir.node import Node, children, remembered
from neelc.ir.parts import inner_parts


@dataclass(frozen=True)
class Component:
    """A component of a pattern and the type of its events.

    `around` are the parts it stands in, innermost first, itself included. `list` names the closure that it
    is an element of, or an event of an iteration of.
    """

    part: p.Event
    type: EventType
    variable: str
    around: tuple[p.Pattern, ...]
    list: str | None = None

    @property
    def is_element(self) -> bool:
        """Whether it is the whole body of a closure: `B+ b[]`."""
        return self.part.variable is None

    @property
    def element(self) -> str:
        """How one of its events is written."""
        return f"{self.variable}[i]" if self.is_element else self.variable

    @property
    def text(self) -> str:
        return f"{self.part.type} {self.variable}{'[]' if self.is_element else ''}"

    def is_alone_in(self, condition: e.Expr) -> bool:
        """Whether a condition concerns one event of this component and nothing else.

        >>> from neelc.rewrite.examples import query
        >>> match = query("SEQ(A a, B+ b[]) WHERE b[i].x > 1 AND b[i].x > a.x AND b[last].x > 2")
        >>> [found.is_alone_in(c) for found in components(match) for c in match.pattern.where.operands]
        [False, False, False, True, False, False]
        """
        named = _events_named(condition) if len(names_in(condition)) == 1 else ()
        return bool(named) and all(self._is(event) for event in named)

    def _is(self, event: e.EventRef) -> bool:
        match event:
            case e.Variable(name):
                return name == self.variable and not self.is_element
            case e.At(e.Variable(name), e.Index("CURRENT", 0)):
                return name == self.variable and self.is_element
            case e.Inner(e.At(e.Variable(name), e.Index("CURRENT", 0)), inner):
                return inner == self.variable and name == self.list
        return False


@remembered
def _events_named(node: Node) -> tuple[e.EventRef, ...]:
    if isinstance(node, e.EventRef):
        return (node,)
    return tuple(event for child in children(node) for event in _events_named(child))


def components(query: Match) -> tuple[Component, ...]:
    """All components of a query, in the order they are written."""
    types = {known.name: known for known in query.types}

    def below(part: p.Pattern, above: tuple[p.Pattern, ...], inside: str | None) -> Iterator[Component]:
        around = (part, *above)
        match part:
            case p.Event(kind, variable):
                yield Component(part, types[kind], variable or inside or "", around, inside)
            case p.Repeat(inner, variable=variable):
                yield from below(inner, around, variable)
            case _:
                for inner in inner_parts(part):
                    yield from below(inner, around, inside)

    return tuple(below(query.pattern, (), None))
