"""The conditions under which an event is joined to a partial match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from neelc.emit.expressions import sql
from neelc.emit.literals import field, spark_type
from neelc.ir.expr import Attribute, EventTime, Expr, Variable
from neelc.ir.typeof import type_of
from neelc.plan.steps import Between, Bounds, Take, Within


@dataclass(frozen=True)
class Naming:
    """How the events of a partial match are written, and their times; an absent variable is not among them.

    `fields` gives the field of a reference.
    """

    events: Mapping[str, str]
    field: Callable[[Expr, str], str]
    lasting: bool

    def start(self, variable: str) -> str:
        return f"{self.events[variable]}.start"

    def end(self, variable: str) -> str:
        return f"{self.events[variable]}.{'`end`' if self.lasting else 'start'}"

    def bound(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in names if name in self.events]

    def sql(self, expression: Expr) -> str:
        return sql(expression, self._reference)

    def _reference(self, node: Expr) -> str | None:
        match node:
            case Attribute(Variable(name)) | EventTime(Variable(name)):
                if name not in self.events:
                    return f"CAST(NULL AS {spark_type(type_of(node))})"
                return field(self.events[name], self.field(node, name))
        return None


def conditions(take: Take, naming: Naming) -> Iterator[str]:
    """What makes an event, already among the names, fit into a partial match."""
    yield from bounds(take.variable, take.bounds, naming)
    for other in naming.bound(take.differs):
        one, two = naming.events[take.variable], naming.events[other]
        yield f"NOT ({one}.start = {two}.start AND {one}.copy = {two}.copy)"
    yield from (f"({naming.sql(condition)})" for condition in take.where)


def bounds(variable: str, limits: Bounds, naming: Naming) -> Iterator[str]:
    start, end = naming.start(variable), naming.end(variable)
    yield from (f"{start} > {naming.end(other)}" for other in naming.bound(limits.after))
    yield from (f"{end} < {naming.start(other)}" for other in naming.bound(limits.before))
    for window in limits.within:
        yield from _within(variable, window, naming)
    for between in limits.between:
        yield _between(start, end, between, naming)


def _within(variable: str, window: Within, naming: Naming) -> Iterator[str]:
    others = naming.bound(window.events)
    event = naming.events[variable]
    first, last = ("first", "beyond") if window.counted else ("start", "`end`" if naming.lasting else "start")
    if window.member:
        yield f"{event}.{last} - {event}.{first} <= {window.width}"
    if others:
        lasts = least("greatest", [f"{naming.events[other]}.{last}" for other in others])
        firsts = least("least", [f"{naming.events[other]}.{first}" for other in others])
        yield f"{event}.{first} >= {lasts} - {window.width}"
        yield f"{event}.{last} <= {firsts} + {window.width}"


def _between(start: str, end: str, between: Between, naming: Naming) -> str:
    """Strictly between two groups of events, whichever comes first."""
    one, other = naming.bound(between.one), naming.bound(between.other)
    if not one or not other:
        return "FALSE"

    def extent(names: list[str]) -> tuple[str, str]:
        starts, ends = [naming.start(n) for n in names], [naming.end(n) for n in names]
        return least("least", starts), least("greatest", ends)

    (a_start, a_end), (b_start, b_end) = extent(one), extent(other)
    return f"(({start} > {a_end} AND {end} < {b_start}) OR ({start} > {b_end} AND {end} < {a_start}))"


def least(function: str, texts: list[str]) -> str:
    """
    >>> least("greatest", ["a", "b"]), least("least", ["a"])
    ('greatest(a, b)', 'a')
    """
    distinct = list(dict.fromkeys(texts))
    return f"{function}({', '.join(distinct)})" if len(distinct) > 1 else distinct[0]
