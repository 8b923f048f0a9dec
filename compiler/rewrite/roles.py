"""Roles: what an event can be in a pattern. Every variable of an event is one, and every list of events."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from neelc.bind.coercion import INTEGERS
from neelc.ir import pattern as p
from neelc.ir.conjuncts import names_in
from neelc.ir.expr import At, Attribute, Binary, Cast, EventRef, Expr, Index, Same, Variable
from neelc.ir.logical import EventType, Match
from neelc.ir.names import same, written
from neelc.ir.node import walk
from neelc.ir.typeof import type_of
from neelc.rewrite.judging import range_of

CURRENT = Index("CURRENT")


def plain(term: Expr) -> Expr:
    """The term without the binder's casts from one integer type to a wider one: they lose nothing.

    >>> from neelc.rewrite.examples import query
    >>> where = query("SEQ(A a, B b) WHERE a.n = b.id").pattern.where
    >>> plain(where.left) == where.left.operand
    True
    """
    match term:
        case Cast(operand, type, implicit=True) if type in INTEGERS and type_of(operand) in INTEGERS:
            return operand
    return term


@dataclass(frozen=True)
class Role:
    """A variable, the type of its events, and whether it is a list of them."""

    variable: str
    type: EventType = field(hash=False)  # it has all columns, and a name is enough to tell roles apart
    is_list: bool = False

    @property
    def event(self) -> EventRef:
        """How a condition speaks of the event; of a list, of each: `b[i]`."""
        return At(Variable(self.variable), CURRENT) if self.is_list else Variable(self.variable)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name, in source form; None if events of the type have none."""
        term = self.term(name)
        return None if term is None else replace(term, event=self.event)

    def term(self, name: str) -> Attribute | None:
        """The attribute, written as if the variable of a list stood for one event."""
        columns = (column for column in self.type.columns if same(name, written(column.name)))
        column = next(columns, None)
        return (
            None if column is None else Attribute(Variable(self.variable), written(column.name), column.type)
        )


@dataclass(frozen=True)
class Roles:
    """All roles of a query, in the order of the text. Branches of an OR may have the same one."""

    query: Match

    @cached_property
    def all(self) -> tuple[Role, ...]:
        return tuple(dict.fromkeys(self._found()))

    def _found(self) -> Iterator[Role]:
        for part in walk(self.query.pattern):
            match part:
                case p.Event(_, str()):
                    yield self.of(part)
                case p.Repeat(p.Event() as event, variable=str() as variable):
                    yield self.of(event, variable)

    def of_variables(self, names: Collection[str]) -> Iterator[Role]:
        """The roles of these variables, in the order of the text."""
        for name in sorted(names, key=self.order.__getitem__):
            yield from self._of_variables.get(name, ())

    @cached_property
    def _of_variables(self) -> Mapping[str, tuple[Role, ...]]:
        found: dict[str, tuple[Role, ...]] = {}
        for role in self.all:
            found[role.variable] = (*found.get(role.variable, ()), role)
        return found

    def of(self, event: p.Event, list: str | None = None) -> Role:
        """The role of an event, or of those of a list."""
        return Role(list or event.variable or "", self._types[event.type], list is not None)

    @cached_property
    def _types(self) -> Mapping[str, EventType]:
        return {known.name: known for known in self.query.types}

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The place of each variable in the text, composite closures included."""
        found = (part.variable for part in walk(self.query.pattern) if isinstance(part, p.Event | p.Repeat))
        return {name: place for place, name in enumerate(dict.fromkeys(name for name in found if name))}

    @cached_property
    def compared(self) -> Mapping[str, Mapping[Expr, None]]:
        """For each variable, the terms of it alone that something is compared with."""
        found: dict[str, dict[Expr, None]] = {}
        for node in walk(self.query.pattern):
            if isinstance(node, Binary) and node.op == "=":
                for side in (plain(node.left), plain(node.right)):
                    if len(names := names_in(side)) == 1 and range_of(side)[0] is None:
                        found.setdefault(next(iter(names)), {})[side] = None
        return found

    @cached_property
    def same(self) -> Mapping[str, None]:
        """The attributes of every `[id]` in the pattern."""
        found = (node.attributes for node in walk(self.query.pattern) if isinstance(node, Same))
        return dict.fromkeys(name for names in found for name in names)
