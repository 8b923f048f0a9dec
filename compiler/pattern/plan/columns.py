"""Columns of events: what conditions, keys and results need to know of an event, computed by Spark, once
for each.

A condition `f(a) op g(b)` becomes two columns and one comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from neelc.ir.algebra import Algebra
from neelc.ir.expressions import Attribute, Binary, EventTime, Expr, IsNull, Literal
from neelc.ir.names import bare, same, written
from neelc.ir.patterns import Window
from neelc.ir.program import EventType, Match, Stream
from neelc.ir.types import DATE, LENGTHS, TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.pattern.analysis.keys import Key
from neelc.pattern.analysis.regions import plain
from neelc.pattern.plan.blocks import (
    Block,
    BlockCondition,
    PlacedVariable,
    event_names,
    implies,
    reference_to,
    renamed,
)
from neelc.pattern.plan.plan import Role
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import EventName, variable_of
from neelc.scalar.type_of import type_of

# Roles: which events can stand for a variable, by conditions on one event alone.


@dataclass(frozen=True)
class EventRoles:
    """The role of each item, by its variable and choices; and the conditions that roles have taken over."""

    roles: tuple[Role, ...]
    of: Mapping[PlacedVariable, str]
    absorbed: frozenset[int]

    def is_absorbed(self, condition: BlockCondition) -> bool:
        return id(condition) in self.absorbed


def event_roles(block: Block, types: Mapping[str, EventType]) -> EventRoles:
    """Every item gets a role; items with the same conditions on their events share one."""
    roles: dict[object, Role] = {}
    of: dict[PlacedVariable, str] = {}
    absorbed: set[int] = set()
    for inner in block.all_blocks():
        alone: dict[EventName, list[BlockCondition]] = {}
        for condition in inner.conditions:
            if len(condition.names) == 1:
                alone.setdefault(next(iter(condition.names)), []).append(condition)
        for item in (one for one in inner.items if one.loop is None):
            own = [c for c in alone.get(item.variable, ()) if implies(item.when, c.when)]
            absorbed |= {id(condition) for condition in own if implies(condition.when, item.when)}
            required = (*_not_null(item, types[item.type]), *(condition.expression for condition in own))
            conditions = tuple(dict.fromkeys(required))
            role = (item.type, frozenset(renamed(condition, item.variable, "") for condition in conditions))
            if role not in roles:
                name = _free(str(item.variable) if conditions else item.type, roles.values())
                roles[role] = Role(name, item.type, item.variable, conditions)
            of[item] = roles[role].name
    return EventRoles(tuple(roles.values()), of, frozenset(absorbed))


def _not_null(item: PlacedVariable, type: EventType) -> Iterator[Expr]:
    """ "`[id]` means: equal `id` on every event. NULL equals nothing." """
    for _, name in item.same:
        yield IsNull(attribute(item.variable, name, type), negated=True)


def attribute(variable: EventName, name: str, type: EventType) -> Attribute:
    column = next(column for column in type.columns if same(name, written(column.name)))
    return Attribute(reference_to(variable), written(column.name), column.type)


def _free(name: str, taken: Iterable[Role]) -> str:
    names = {role.name for role in taken}
    numbered = (f"{name}_{number}" for number in range(2, len(names) + 3))
    return name if name not in names else next(other for other in numbered if other not in names)


def without_key_equalities(block: Block, keys: tuple[Key, ...]) -> Block:
    """Events are partitioned by the keys, so that `a.id = b.id` requires only that neither is NULL."""
    conditions: list[BlockCondition] = []
    for condition in block.conditions:
        sides = _sides(condition.expression, keys)
        nots = [replace(condition, expression=IsNull(side, negated=True)) for side in sides]
        conditions += nots or [condition]
    checks = [without_key_equalities(check, keys) for check in block.checks]
    items = [_loop_without_key_equalities(item, keys) for item in block.items]
    return replace(block, items=items, conditions=conditions, checks=checks)


def _loop_without_key_equalities(item: PlacedVariable, keys: tuple[Key, ...]) -> PlacedVariable:
    if item.loop is None:
        return item
    return replace(item, loop=replace(item.loop, body=without_key_equalities(item.loop.body, keys)))


def _sides(expression: Expr, keys: tuple[Key, ...]) -> tuple[Expr, ...]:
    if not isinstance(expression, Binary) or expression.op != "=":
        return ()
    sides = (expression.left, expression.right)
    names = [event_names(side) for side in sides]
    if any(len(side) != 1 for side in names) or names[0] == names[1]:
        return ()
    for key in keys:
        terms = [_term(key, next(iter(side))) for side in names]
        if all(
            term is not None and plain(side) == plain(term) for side, term in zip(sides, terms, strict=True)
        ):
            return sides
    return ()


def _term(key: Key, name: EventName) -> Expr | None:
    """What gives the key of a variable's event. The key of a list is that of each of its events."""
    terms = dict(key.terms)
    own = variable_of(name)
    return renamed(terms[own], own, name) if own in terms else None


EVENT = ""
"""The name that the expression of a column has for its event."""

RESERVED = (
    "start",
    "end",
    "roles",
    "rule",
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

NUMBERED = re.compile(r"(events|near|roles|shape|order)_[0-9]+\Z", re.IGNORECASE)
"""More of them."""


def order_names(query: Match) -> tuple[str, ...]:
    """The columns that order events of the same time: THEN BY.

    >>> from pattern_examples import query
    >>> order_names(query("SEQ(A a, B b)"))
    ()
    """
    return tuple(f"order_{number}" for number, _ in enumerate(query.order_types, 1))


PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
"""Names that need no quotes in any generated text."""

PLAIN, NUMBER, CODE, PLACE = "PLAIN", "NUMBER", "CODE", "PLACE"
"""How a column is written: unchanged; as a whole number (times, in microseconds or days); as a code that is
only compared; as the text of a geometry, which the kernel reads."""


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
    """The names of the columns that are written unchanged, by what they hold."""
    return {column.expression: column.name for column in columns if column.form == PLAIN}


@dataclass
class EventColumns:
    """The columns that were requested, in that order."""

    type_of_variable: Mapping[EventName, tuple[str, ...]]
    columns: dict[tuple[Expr, str], EventColumn] = field(default_factory=dict)
    names: set[str] = field(default_factory=lambda: set(RESERVED))

    def column(self, expression: Expr, variable: EventName, form: str = PLAIN) -> EventColumn:
        """The column for an expression over one variable."""
        assert event_names(expression) <= {variable}, f"{expression} is not about {variable} alone"
        plain = renamed(expression, variable, EVENT)
        types = self.type_of_variable[variable]
        column = self.columns.get((plain, form))
        if column is None:
            column = EventColumn(self.free(wish(plain, form)), plain, form, types)
        elif not set(types) <= set(column.types):
            column = replace(column, types=tuple(dict.fromkeys((*column.types, *types))))
        self.columns[plain, form] = column
        return column

    def free(self, name: str) -> str:
        """A name that is not taken; Spark's names are case-insensitive."""
        free, number = name, 1
        while free.casefold() in self.names:
            number += 1
            free = f"{name}_{number}"
        self.names.add(free.casefold())
        return free

    def all(self) -> Iterable[EventColumn]:
        return self.columns.values()


def wish(expression: Expr, form: str) -> str:
    """The name that a column would have, if it is free."""
    match expression:
        case Attribute(name=name) | EventTime(name=name) if PLAIN_NAME.match(bare(name)):
            if NUMBERED.match(bare(name)):
                return "value"
            return bare(name) if form != NUMBER else f"{bare(name)}_number"
    return "value"


# Times as whole numbers: the unit that a query counts in, and its windows in that unit.

LONGEST = 2**61
"""Windows that are longer than all times: adding them to a time does not overflow."""

ENDLESS = LONGEST - 2**56
"""The end of events that last for ever. Kernels take times that are less than LONGEST apart, so there is room
for times before 1970: in microseconds, for two thousand years."""


def unit_of(query: Match, results: Mapping[str, str] | None = None) -> str:
    """The unit that holds the times of all streams without rounding; `results` are the units of earlier
    queries.

    >>> from pattern_examples import query
    >>> unit_of(query("SEQ(A a, B b)"))
    'MILLISECOND'
    """
    result_units = results or {}
    units = (result_units.get(stream.query or "") or stream_unit(stream) for stream in query.streams)
    return min(units, key=LENGTHS.__getitem__)


def network_unit(query: Algebra, results: Mapping[str, str] | None = None) -> str:
    """The same for a SELECT: of all streams that have times, and of the clock of its result."""
    result_units = results or {}
    timed = (stream for stream in query.streams if not stream.is_relation)
    units = [result_units.get(stream.query or "") or stream_unit(stream) for stream in timed]
    own = query.clock.unit or ("DAY" if query.clock.type == DATE else "MICROSECOND")
    return min((*units, own), key=LENGTHS.__getitem__)


def stream_unit(stream: Stream) -> str:
    """The unit of a stream's times."""
    kinds = {column.type for column in stream.columns if column.name == stream.start}
    if kinds & {TIMESTAMP, TIMESTAMP_NTZ}:
        return "MICROSECOND"
    return "DAY" if DATE in kinds else stream.unit


def width_of(window: Window, unit: str) -> tuple[int, bool]:
    """The width of a window in whole units, or in events; and whether it counts events.

    All times are whole units, so a part of a unit makes no difference.

    >>> from neelc.ir.types import INT
    >>> width_of(Window(Literal(1500, INT), "MILLISECOND"), "SECOND")
    (1, False)
    """
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), (
        "a bound window has a count"
    )
    if window.unit == "EVENT":
        return window.count.value, True
    return min(LONGEST, window.count.value * LENGTHS[window.unit or unit] // LENGTHS[unit]), False
