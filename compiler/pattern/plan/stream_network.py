"""Queries that read queries, over streams without end: the program of one operator that runs them all.

In batches Spark makes the rows of a query out of its matches, and events out of those rows. Between two
queries that run in one operator there is no Spark: workers compute the same, row by row, with the operations
of `runtime/values`. What Spark still does is to read the streams, before, and RETURN of the last query,
after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from neelc.ir import expressions as e
from neelc.ir.expressions import EventRef, Expr, Index, is_array_of_path, is_many, lists
from neelc.ir.names import bare, find, written
from neelc.ir.node import Node, walk
from neelc.ir.program import Clock, Stream
from neelc.ir.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    LENGTHS,
    WIDE,
    YEAR_INTERVAL,
    Array,
    DataType,
    Struct,
)
from neelc.pattern.plan.blocks import UnsupportedQuery, renamed, variable_of
from neelc.pattern.plan.columns import EVENT, NUMBER, EventColumn, order_names
from neelc.pattern.plan.counting.plan import AggregatePlan, TalliedAggregate
from neelc.pattern.plan.kernel_plan import START, KernelPlan, KeyColumn, closures_of
from neelc.pattern.plan.plan import Role
from neelc.rows.plan.conditions import changed
from neelc.rows.plan.expression_to_value import lowered
from neelc.runtime.kernels.counting.chain import AVERAGE, COUNT, SUM
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    ELEMENT,
    MATCH_END,
    MATCH_START,
    PLACE,
    Apply,
    ColumnValue,
    Constant,
    ImpreciseProgram,
    ListColumn,
    ProjectedColumn,
    RowProjection,
    Value,
)
from neelc.runtime.reference.question import condition
from neelc.runtime.reference.results import is_over_matches
from neelc.runtime.values.types import ValueType
from neelc.scalar.type_of import DATETIMES, type_of, value_type


class UnsupportedNetwork(UnsupportedQuery):
    """A query that cannot read another one over streams without end."""

    code = "NEEL4138"


# What a PATTERN reads.


def network_columns(planned: KernelPlan) -> Iterator[tuple[str, ValueType]]:
    """The columns of events."""
    yield START, "bigint"
    if planned.program.lasting:
        yield "end", "bigint"
    query = planned.query
    yield from zip(order_names(query), map(value_type, query.order_types), strict=True)
    yield "roles", "bigint" if len(planned.plan.roles) > 30 else "int"
    for key in planned.keys:
        if not key.is_column:
            yield key.name, value_type(key_type(key))
    for column in planned.columns:
        yield column.name, "bigint" if column.form == NUMBER else value_type(column.type)


def key_type(key: KeyColumn) -> DataType:
    return DOUBLE if key.type == FLOAT else key.type


def time_value(number: Value, unit: str, clock: Clock) -> Value:
    """A number of `unit` as the clock writes times."""
    if clock.unit is not None:
        return in_unit(number, unit, clock.unit)
    target = "DAY" if clock.type == DATE else "MICROSECOND"
    return Apply("time_of", (in_unit(number, unit, target),), value_type(clock.type))


def in_unit(number: Value, unit: str, target: str) -> Value:
    """
    >>> in_unit(Constant(3), "SECOND", "MILLISECOND").operation, in_unit(Constant(3), "DAY", "DAY")
    ('*', Constant(value=3))
    """
    if LENGTHS[unit] == LENGTHS[target]:
        return number
    if LENGTHS[unit] > LENGTHS[target]:
        return Apply("*", (number, Constant(LENGTHS[unit] // LENGTHS[target])), "bigint")
    length = Constant(LENGTHS[target] // LENGTHS[unit])
    rest = Apply("pmod", (number, length), "bigint")
    return Apply("DIV", (Apply("-", (number, rest), "bigint"), length), "bigint")


# RETURN, and conditions on complete matches: from matches to the rows of a query.

START_NUMBER, END_NUMBER = "match_start_number", "match_end_number"
"""The times of a row of a query as numbers, beside its columns."""


def rows_of_matches(planned: KernelPlan) -> RowProjection:
    """What makes the rows of a query out of matches; raises `UnsupportedQuery`."""
    query = planned.query
    values = MatchValues(planned)
    where = tuple(values.condition(one) for whole in planned.residual for one in e.conjuncts(whole))
    columns = [
        ProjectedColumn(one.name, values.value(one.expression), held_type(one.type)) for one in query.outputs
    ]
    columns += [
        ProjectedColumn(START_NUMBER, ColumnValue("", MATCH_START), "bigint"),
        ProjectedColumn(END_NUMBER, ColumnValue("", MATCH_END), "bigint"),
    ]
    return RowProjection(tuple(columns), where, tuple(values.lists))


def rows_of_groups(plan: AggregatePlan) -> RowProjection:
    """The same out of groups of matches that were counted. They have no times but those they return."""
    values = MatchValues(plan.planned)
    tallies: dict[Node, Value] = {one.node: _tally_value(one) for one in plan.tallied}
    columns = [
        ProjectedColumn(
            one.name,
            lowered(one.expression, tallies.get)
            if is_over_matches(one.expression)
            else values.value(one.expression),
            held_type(one.type),
        )
        for one in plan.planned.query.outputs
    ]
    return RowProjection(tuple(columns))


def _tally_value(one: TalliedAggregate) -> Value:
    """The value of an aggregate, of the columns that a program gives for its tally."""
    whole, tally = ColumnValue("", one.tally.name), one.tally
    if tally.function == AVERAGE:
        total, count = (ColumnValue("", f"{tally.name}_{part}") for part in ("sum", "count"))
        return Apply("/", (total, Apply("nullif", (count, Constant(0.0)))), "double")
    if tally.wide or tally.function not in (COUNT, SUM) or type_of(one.node) == DOUBLE:
        return whole
    # A sum that does not fit is NULL, as in the enumeration of matches.
    return Apply("cast", (whole, Constant(value_type(WIDE))), "bigint")


def held_type(type: DataType) -> ValueType:
    """The type of a column of rows."""
    if any(part == YEAR_INTERVAL for part in walk(type)):
        raise UnsupportedNetwork("reading a column of intervals of years and months")
    return value_type(type)


@dataclass(frozen=True)
class CurrentElement:
    """`b[i]` of a condition that is checked for each element of the list `base`."""

    base: EventRef


@dataclass
class MatchValues:
    """Expressions over a match: over its events, the elements of its lists, and aggregates over those.

    `lists` collects the columns that are computed from lists."""

    planned: KernelPlan
    lists: list[ListColumn] = field(default_factory=list)
    current: CurrentElement | None = None

    def value(self, expression: Expr) -> Value:
        return lowered(expression, self._leaf)

    def condition(self, conjunct: Expr) -> Value:
        """A condition; one with `i` must hold for every i, and does for the first elements if it looks
        back."""
        known = condition(conjunct)
        if known.ranged is None:
            return self.value(conjunct)
        inside = replace(self, current=CurrentElement(known.ranged))
        holds = Apply("istrue", (inside.value(conjunct),))
        if known.lag:
            holds = Apply("or", (Apply("<", (PLACE, Constant(known.lag))), holds))
        column = self._column(known.ranged, holds, BOOLEAN, "every")
        return Apply("coalesce", (column, Constant(True)), "boolean")

    def _leaf(self, node: Node) -> Value | None:
        match node:
            case e.Expr() if is_array_of_path(node):
                return self._of_list(node, type_of(node))
            case e.Attribute() | e.EventTime():
                return self._attribute(node)
            case e.IsNull(e.WholeEvent(event), negated):
                return Apply("isnotnull" if negated else "isnull", (self.event(event),))
            case e.WholeEvent(event, type):
                return self._whole(event, type)
            case e.MatchProperty(name):
                return self._property(bare(name).lower())
            case e.Aggregate(function=function) if function is not None:
                raise UnsupportedNetwork(f"`{node}` in a query that another one reads")
            case e.Aggregate(name, Expr() as argument, type, distinct) if is_many(argument):
                return self._of_list(argument, type, name, distinct)
        return None

    def _property(self, name: str) -> Value:
        if name == "confidence":
            is_weighed = isinstance(self.planned.program, ImpreciseProgram)
            return ColumnValue("", name) if is_weighed else Constant(1.0)
        return time_value(ColumnValue("", name), self.planned.plan.unit, self.planned.query.clock)

    def event(self, reference: EventRef) -> Value:
        """What a reference reaches: a struct, or a list of them."""
        match reference:
            case e.Variable(name):
                return ColumnValue("", self.planned.struct(name))
            case _ListedElement():
                return ELEMENT
            case e.InnerVariable(base, name):
                inner = self.planned.inner(variable_of(_plain(base)), name)
                return Apply("field", (self.event(base), Constant(inner)))
            case e.ListElement(base, Index("FIRST", offset)):
                return Apply("item", (self.event(base), Constant(offset)))
            case e.ListElement(base, Index("LAST", offset)):
                return Apply("element_at", (self.event(base), Constant(offset - 1)))
            case e.ListElement(base, Index("CURRENT", offset)):
                assert self.current is not None, "`i` stands in conditions only"
                if base == self.current.base and not offset:
                    return ELEMENT
                place = Apply("+", (PLACE, Constant(offset)), "int")
                return Apply("item", (self.event(base), place))
        raise AssertionError(f"{reference} has no value")

    def _attribute(self, reference: e.Attribute | e.EventTime) -> Value:
        event = _plain(reference.event)
        variable = variable_of(event)
        name = self.planned.field(replace(reference, event=e.Variable(variable)), variable)
        if isinstance(event, e.Variable):
            value: Value = ColumnValue(self.planned.struct(variable), name)
        else:
            value = Apply("field", (self.event(reference.event), Constant(name)))
        if name != START:
            return value
        kind, unit = reference.type, self.planned.plan.unit
        return time_value(value, unit, Clock(kind, None if kind in DATETIMES else unit))

    def _whole(self, event: EventRef, type: DataType) -> Value:
        """One event with all its attributes, or an iteration with all its variables."""
        assert isinstance(type, Struct)
        bodies = closures_of(self.planned.query.pattern).get(variable_of(_plain(event)))
        parts: list[Value] = []
        for part in type.fields:
            inside: Value = Constant(None)
            if bodies is None:
                inside = self._attribute(e.Attribute(event, part.name, part.type))
            else:
                for name in (name for name in bodies if bare(name) == bare(part.name)):
                    if isinstance(part.type, Array):
                        raise UnsupportedNetwork(f"`{event}`, which has lists of lists,")
                    inside = self._whole(e.InnerVariable(event, name), part.type)
            parts += (Constant(bare(part.name)), inside)
        struct = Apply("named_struct", tuple(parts), value_type(type))
        return Apply("if", (Apply("isnull", (self.event(event),)), Constant(None), struct))

    def _of_list(
        self, argument: Expr, type: DataType, function: str | None = None, distinct: bool = False
    ) -> Value:
        """What an expression is for each element of the list that it ranges over, or an aggregate of that."""
        each = next(lists(argument))

        def change(node: Node) -> Node | None:
            # An aggregate inside has a list of its own.
            return (
                _ListedElement(each.base) if node == each else node if isinstance(node, e.Aggregate) else None
            )

        one = changed(argument, change)
        if is_many(one):
            raise UnsupportedNetwork(f"`{argument}`, a list of lists,")
        if function == "count" and isinstance(one, e.WholeEvent) and not distinct:
            value = self.event(one.event)  # to be counted, events need not be looked into
        else:
            value = replace(self, current=None).value(one)
        end = None
        if each.upper is not None:
            if each.upper.anchor == "CURRENT":
                raise UnsupportedNetwork(f"`{argument}` in a condition that is checked on complete matches")
            end = each.upper.offset + (each.upper.anchor == "FIRST") or None
        return self._column(each.base, value, type, function, distinct, end)

    def _column(
        self,
        base: EventRef,
        argument: Value,
        type: DataType,
        function: str | None = None,
        distinct: bool = False,
        end: int | None = None,
    ) -> Value:
        name = f"#list {len(self.lists)}"
        elements = self.event(base)
        self.lists.append(ListColumn(name, elements, argument, value_type(type), function, distinct, end))
        return ColumnValue("", name)


@dataclass(frozen=True)
class _ListedElement(EventRef):
    """The element of the list `base` that an expression is computed for."""

    base: EventRef


def _plain(reference: EventRef) -> EventRef:
    """The reference with lists in place of elements, for what only asks for names."""
    match reference:
        case _ListedElement(base):
            return e.EveryElement(base)
        case e.InnerVariable(base, name):
            return e.InnerVariable(_plain(base), name)
    return reference


# From the rows of a query to the events of the one that reads it: what a scan is for a stream.


@dataclass(frozen=True)
class DerivedEvents:
    """The events that a query reads of another one: their columns, computed from its rows, whose times are of
    `clock`. Those that last longer than `longest` are none, if that is given."""

    planned: KernelPlan
    stream: Stream
    clock: Clock
    longest: int | None = None

    def projection(self) -> RowProjection:
        roles = [role for role in self.planned.plan.roles if self._is_member(role.type)]
        columns = [ProjectedColumn(START, ColumnValue("", START_NUMBER), "bigint")]
        if self.planned.program.lasting:
            columns.append(ProjectedColumn("end", ColumnValue("", END_NUMBER), "bigint"))
        columns.append(ProjectedColumn("roles", self._roles(roles), "bigint"))
        columns += [self._key(key) for key in self.planned.keys if not key.is_column]
        columns += [self._column(column) for column in self.planned.columns]
        where = () if self.planned.program.everything else self._has_role(roles)
        if self.longest is not None:
            lasts = Apply("-", (ColumnValue("", END_NUMBER), ColumnValue("", START_NUMBER)), "bigint")
            where = (Apply("<=", (lasts, Constant(self.longest))), *where)
        return RowProjection(tuple(columns), where)

    def _is_member(self, type: str) -> bool:
        return any(
            member.stream == self.stream.name
            for known in self.planned.query.types
            if known.name == type
            for member in known.members
        )

    def _conditions(self, role: Role) -> tuple[Value, ...]:
        return tuple(self.value(renamed(one, role.variable, EVENT)) for one in role.conditions)

    def _roles(self, roles: Sequence[Role]) -> Value:
        """The roles that an event can play, as bits."""
        total: Value = Constant(0)
        for role in roles:
            bit: Value = Constant(1 << self.planned.plan.roles.index(role))
            conditions = self._conditions(role)
            if conditions and (len(roles) > 1 or self.planned.program.everything):
                bit = Apply("if", (_all_of(conditions), bit, Constant(0)), "bigint")
            total = bit if total == Constant(0) else Apply("+", (total, bit), "bigint")
        return total

    def _has_role(self, roles: Sequence[Role]) -> tuple[Value, ...]:
        """The conditions that an event can play a role at all."""
        tests = [self._conditions(role) for role in roles]
        if len(tests) == 1:
            return tests[0]
        return (Apply("or", tuple(map(_all_of, tests))),) if all(tests) else ()

    def _key(self, key: KeyColumn) -> ProjectedColumn:
        terms = [term for term, types in key.terms if any(map(self._is_member, types))]
        if not terms and self.planned.program.everything and len(key.terms) == 1:
            terms = [key.terms[0][0]]
        value: Value = self.value(terms[0]) if terms else Constant(None)
        if key.type in (FLOAT, DOUBLE):
            # Equal numbers must be equal as keys: zero has two forms.
            value = Apply("+", (value, Constant(0.0)), "double")
        return ProjectedColumn(key.name, value, value_type(key_type(key)))

    def _column(self, column: EventColumn) -> ProjectedColumn:
        is_key = column.name in [key.name for key in self.planned.keys]
        counts = self.planned.program.everything and is_key
        value: Value = Constant(None)
        if counts or any(map(self._is_member, column.types)):
            value = self.value(column.expression)
        if column.form == NUMBER:
            return ProjectedColumn(column.name, Apply("number_of", (value,)), "bigint")
        return ProjectedColumn(column.name, value, held_type(column.type))

    def value(self, expression: Expr) -> Value:
        """An expression over the event."""
        return lowered(expression, self._leaf)

    def _leaf(self, node: Node) -> Value | None:
        match node:
            case e.Attribute(e.Variable(), name, type):
                columns = {written(column.name): column for column in self.stream.columns}
                known = name if name in columns else find(name, columns)
                if known is None:
                    return Constant(None)
                column = columns[known]
                return _as_type(ColumnValue("", column.name), column.type, type)
            case e.EventTime(e.Variable(), name, type) if self.stream.query is None:
                is_start = bare(name).lower() == "ts"
                time = self.stream.start if is_start else self.stream.end or self.stream.start
                own = next(column.type for column in self.stream.columns if column.name == time)
                return _as_type(ColumnValue("", time), own, type)
            case e.EventTime(e.Variable(), name, type):
                is_start = bare(name).lower() == "ts"
                number = ColumnValue("", START_NUMBER if is_start else END_NUMBER)
                unit = None if type in DATETIMES else self.stream.unit
                own = self.clock.type
                kind = own if unit is None and own in DATETIMES else type
                return _as_type(time_value(number, self.planned.plan.unit, Clock(kind, unit)), kind, type)
        return None


def _as_type(value: Value, have: DataType, want: DataType) -> Value:
    if have == want:
        return value
    return Apply("cast", (value, Constant(value_type(have))), value_type(want))


def _all_of(conditions: tuple[Value, ...]) -> Value:
    return conditions[0] if len(conditions) == 1 else Apply("and", conditions)
