"""Columns of events: what conditions, keys and results need to know of an event, computed by Spark, once
for each.

A condition `f(a) op g(b)` becomes two columns and one comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Attribute, EventTime, Expr
from neelc.ir.names import bare
from neelc.ir.typeof import type_of
from neelc.ir.types import DataType
from neelc.plan.event_roles import renamed

EVENT = ""
"""The name that the expression of a column has for its event."""

RESERVED = (
    "start",
    "end",
    "roles",
    "chunk",
    "chunk_width",
    "span",
    "match_start",
    "match_end",
    "copy",
    "bucket",
    "event",
    "events",
    "first",
    "beyond",
)
"""Names that relations of events have for columns of their own."""

NUMBERED = re.compile(r"(events|near)_[0-9]+\Z", re.IGNORECASE)
"""More of them."""

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
"""What can stand in any generated text as it is."""

PLAIN, NUMBER, CODE = "PLAIN", "NUMBER", "CODE"
"""How a column is written: as it is; as a whole number (times, in microseconds or days); to be compared
only."""


@dataclass(frozen=True)
class EventColumn:
    """A value of events of the types `types`. `expression` calls the event `EVENT`."""

    name: str
    expression: Expr
    form: str = PLAIN
    types: tuple[str, ...] = ()

    @property
    def type(self) -> DataType:
        return type_of(self.expression)


def plain_columns(columns: Iterable[EventColumn]) -> dict[Expr, str]:
    """The names of the columns that are written as they are, by what they hold."""
    return {column.expression: column.name for column in columns if column.form == PLAIN}


@dataclass
class EventColumns:
    """The columns that were asked for, in the order they were."""

    type_of_variable: Mapping[str, tuple[str, ...]]
    columns: dict[tuple[Expr, str], EventColumn] = field(default_factory=dict)
    names: set[str] = field(default_factory=lambda: set(RESERVED))

    def column(self, expression: Expr, variable: str, form: str = PLAIN) -> EventColumn:
        """The column for an expression over one variable."""
        assert names_in(expression) <= {variable}, f"{expression} is not about {variable} alone"
        plain = renamed(expression, variable, EVENT)
        types = self.type_of_variable[variable]
        known = self.columns.get((plain, form))
        if known is None:
            known = EventColumn(self.free(_wish(plain, form)), plain, form, types)
        elif not set(types) <= set(known.types):
            known = replace(known, types=tuple(dict.fromkeys((*known.types, *types))))
        self.columns[plain, form] = known
        return known

    def free(self, name: str) -> str:
        """A name that is not taken; Spark does not tell cases apart."""
        found, number = name, 1
        while found.casefold() in self.names:
            number += 1
            found = f"{name}_{number}"
        self.names.add(found.casefold())
        return found

    def all(self) -> Iterable[EventColumn]:
        return self.columns.values()


def _wish(expression: Expr, form: str) -> str:
    match expression:
        case Attribute(name=name) | EventTime(name=name) if PLAIN_NAME.match(bare(name)):
            if NUMBERED.match(bare(name)):
                return "value"
            return bare(name) if form != NUMBER else f"{bare(name)}_number"
    return "value"
