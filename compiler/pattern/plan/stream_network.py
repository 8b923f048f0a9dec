"""Queries that read queries, over streams without end: the program of one operator that runs them all.

In batches Spark makes the rows of a query out of its matches, and events out of those rows. Between two
queries that run in one operator there is no Spark: workers compute the same, row by row, with the operations
of `runtime/values`. What Spark still does is to read the streams, before, and RETURN of the last query,
after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from neelc.ir import expressions as e
from neelc.ir.expressions import EventRef, Expr, Index, is_array_of_path, is_many, lists
from neelc.ir.names import bare, find, written
from neelc.ir.node import Node, walk
from neelc.ir.program import Clock, Match, Stream
from neelc.ir.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    LENGTHS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    YEAR_INTERVAL,
    DataType,
    Struct,
)
from neelc.pattern.analysis.regions import plain
from neelc.pattern.plan.blocks import UnsupportedQuery, renamed, variable_of
from neelc.pattern.plan.columns import EVENT, NUMBER, EventColumn, stream_unit
from neelc.pattern.plan.emission import StreamPlan, streamed_pattern
from neelc.pattern.plan.kernel_plan import START, KernelPlan, KeyColumn, closures_of
from neelc.pattern.plan.plan import Role, types_of_variables
from neelc.pattern.plan.plan_to_program import may_be_absent
from neelc.rows.plan.conditions import changed
from neelc.rows.plan.expression_to_value import expression_to_value
from neelc.runtime.program import (
    ELEMENT,
    MATCH_END,
    MATCH_START,
    PLACE,
    Apply,
    ColumnValue,
    Constant,
    ListColumn,
    NetworkNode,
    NetworkProgram,
    NodeReading,
    ProjectedColumn,
    RowProjection,
    StreamedPattern,
    Value,
)
from neelc.runtime.reference.question import condition
from neelc.runtime.values.types import ValueType
from neelc.scalar.type_of import DATETIMES, is_zoned, type_of, value_type


class UnsupportedNetwork(UnsupportedQuery):
    """A query that cannot read another one over streams without end."""

    code = "NEEL4138"


# The network.


@dataclass(frozen=True)
class StreamedQuery:
    """A query of a network: the name by which others read it, and its plan."""

    name: str | None
    planned: KernelPlan

    @property
    def query(self) -> Match:
        return self.planned.query

    @property
    def outside(self) -> tuple[Stream, ...]:
        """The streams that it reads from outside."""
        return tuple(stream for stream in self.query.streams if stream.producer is None)


@dataclass(frozen=True)
class StreamNetwork:
    """Queries that run in one operator, and their program.

    `buckets` has, for each query, the columns of its events by which they are spread over buckets: all that
    any query brings together have the same values there. None: there are no such columns, and all events are
    in one bucket; `reason` says why."""

    queries: tuple[StreamedQuery, ...]
    program: NetworkProgram
    buckets: tuple[tuple[str, ...], ...] | None
    reason: str = ""


def streamed_query(name: str | None, plan: object) -> StreamedQuery:
    """The query of a network that has this plan; raises `UnsupportedNetwork` if it is none for a network."""
    whose = f"`{name}`" if name else "the last query"
    if not isinstance(plan, StreamPlan):
        raise UnsupportedNetwork(f"only PATTERN queries that read PATTERN queries, and {whose} is another")
    if not isinstance(plan.streamed, StreamedPattern):
        what = "aggregates over matches, or imprecise times, where queries read queries"
        raise UnsupportedNetwork(f"{what}: {whose}")
    return StreamedQuery(name, plan.planned)


def common_unit(queries: Iterable[Match]) -> str:
    """The unit that holds the times of all streams that any of the queries reads from outside."""
    streams = (stream for query in queries for stream in query.streams if stream.producer is None)
    return min(map(stream_unit, streams), key=LENGTHS.__getitem__)


def stream_network(queries: Sequence[StreamedQuery]) -> StreamNetwork:
    """The network of queries that read each other, each after those that it reads; raises `UnsupportedQuery`.
    All count times in one unit."""
    units = {one.planned.plan.unit for one in queries}
    if len(units) > 1:
        raise UnsupportedNetwork(f"queries that count time in different units: {', '.join(sorted(units))}")
    nodes: list[NetworkNode] = []
    for one in queries:
        nodes.append(_node(one, queries[: len(nodes)], nodes, one is queries[-1]))
    program = NetworkProgram(tuple(nodes), any(map(is_zoned, _evaluated(queries))))
    buckets = _buckets(queries, program)
    if isinstance(buckets, str):
        return StreamNetwork(tuple(queries), program, None, buckets)
    return StreamNetwork(tuple(queries), program, buckets)


def _evaluated(queries: Sequence[StreamedQuery]) -> Iterator[Expr]:
    """What workers may evaluate."""
    for one in queries:
        yield from (output.expression for output in one.query.outputs)
        yield from one.planned.residual
        yield from (condition for role in one.planned.plan.roles for condition in role.conditions)
        yield from (column.expression for column in one.planned.columns)
        yield from (term for key in one.planned.keys for term, _ in key.terms)


def _node(
    one: StreamedQuery, before: Sequence[StreamedQuery], nodes: Sequence[NetworkNode], is_last: bool
) -> NetworkNode:
    if one.query.distinct and not is_last:
        raise UnsupportedNetwork(
            "reading RETURN DISTINCT: a row stands for all matches equal to it, and there may always be more"
        )
    program = streamed_pattern(one.planned)
    places = {query.name: place for place, query in enumerate(before) if query.name is not None}
    reads, lag = [], 0
    for stream in one.query.streams:
        if stream.producer is None:
            continue
        place = places[stream.producer]
        reads.append(NodeReading(place, _as_events(one, stream, before[place])))
        lag = max(lag, nodes[place].lag + _delay(before[place], nodes[place].program))
    rows = None if is_last else rows_of_matches(one.planned)
    schema = tuple(network_columns(one.planned)) if reads else ()
    return NetworkNode(one.name or "", program, lag, rows, tuple(reads), schema)


def _delay(read: StreamedQuery, program: StreamedPattern) -> int:
    """How much later than the watermark the results of a query have come: those that start so much before it,
    or earlier, are known."""
    if program.window is None:
        raise UnsupportedNetwork(
            f"`{read.name}` has a window of EVENTS, so it is not known when all of its matches have come"
        )
    # With RETURN COLLAPSED, lists reach a window back and forth from what matches have in common.
    return 2 * program.window if read.query.collapsed else program.window


def network_columns(planned: KernelPlan) -> Iterator[tuple[str, ValueType]]:
    """The columns of events."""
    yield START, "bigint"
    if planned.program.lasting:
        yield "end", "bigint"
    yield "roles", "bigint" if len(planned.plan.roles) > 30 else "int"
    for key in planned.keys:
        if not key.is_column:
            yield key.name, value_type(_key_type(key))
    for column in planned.columns:
        yield column.name, "bigint" if column.form == NUMBER else value_type(column.type)


def _key_type(key: KeyColumn) -> DataType:
    return DOUBLE if key.type == FLOAT else key.type


# Where events meet: the columns by which they can be spread over buckets.


def _buckets(queries: Sequence[StreamedQuery], program: NetworkProgram) -> tuple[tuple[str, ...], ...] | str:
    """For each query the columns that hold the same keys; or why there are none."""
    chosen: list[list[int]] = [[] for _ in queries]
    why = f"`{queries[-1].query.pattern}` has no key"
    distinct = program.nodes[-1].program.distinct
    for number, key in enumerate(queries[-1].planned.keys):
        if distinct is not None and key.name not in distinct.keys:
            why = f"rows that are equal may have different keys {key.name}"
            continue
        traced = _traced(queries, number)
        if isinstance(traced, str):
            why = traced
            continue
        for place, own in enumerate(traced):
            chosen[place].append(own)
    if not all(chosen):
        return why
    return tuple(
        tuple(one.planned.keys[key].name for key in keys) for one, keys in zip(queries, chosen, strict=True)
    )


def _traced(queries: Sequence[StreamedQuery], number: int) -> list[int] | str:
    """The number of the key of each query that equals this key of the last one; or why there is none."""
    places = {query.name: place for place, query in enumerate(queries) if query.name is not None}
    found: list[int | None] = [None] * len(queries)
    found[-1] = number
    for place in range(len(queries) - 1, -1, -1):
        one, own = queries[place], found[place]
        if own is None:
            return f"what `{one.name}` finds is read without a key"
        for stream in one.query.streams:
            if stream.producer is None:
                continue
            read = queries[places[stream.producer]]
            key = _key_behind(one, own, stream, read)
            name = one.planned.keys[own].name
            if key is None:
                return f"the key {name} of `{one.name or one.query.pattern}` is no key of `{read.name}`"
            if found[places[stream.producer]] not in (None, key):
                return f"`{read.name}` is read by two of its keys"
            found[places[stream.producer]] = key
    kinds = {_key_type(one.planned.keys[key or 0]) for one, key in zip(queries, found, strict=True)}
    if len(kinds) > 1:
        return "the keys of the queries have different types"
    return [key or 0 for key in found]


def _key_behind(one: StreamedQuery, number: int, stream: Stream, read: StreamedQuery) -> int | None:
    """The number of the key of `read` that is this key of a query, for events of that stream."""
    types = [t.name for t in one.query.types if any(member.stream == stream.name for member in t.members)]
    terms = [term for term, of in one.planned.keys[number].terms if set(of) & set(types)]
    match [plain(term) for term in terms]:
        case [e.Attribute(e.Variable(), name)]:
            column = bare(name).casefold()
        case _:
            return None
    absent = frozenset(may_be_absent(read.planned.plan.steps))
    match [output.expression for output in read.query.outputs if output.name.casefold() == column]:
        case [e.Attribute(e.Variable(variable)) as returned] if variable not in absent:
            term = renamed(returned, variable, EVENT)
            own = set(types_of_variables(read.planned.plan).get(variable, ()))
            for place, key in enumerate(read.planned.keys):
                if own and [plain(one) for one, of in key.terms if own & set(of)] == [term]:
                    return place
    return None


# Expressions for workers: what they name is found first, and has a column or a path of its own.

LEAF = "#leaf"
Leaf = Callable[[Node], Value | None]


def lowered(expression: Expr, leaf: Leaf) -> Value:
    """An expression as operations, given the values of what it names."""
    values: dict[str, Value] = {}

    def change(node: Node) -> Node | None:
        value = leaf(node)
        if value is None:
            return None
        assert isinstance(node, Expr)
        name = f"leaf_{len(values)}"
        values[name] = value
        return e.Attribute(e.Variable(LEAF), name, type_of(node))

    return _with_leaves(expression_to_value(changed(expression, change)), values)


def _with_leaves(value: Value, leaves: Mapping[str, Value]) -> Value:
    match value:
        case ColumnValue(variable, name) if variable == LEAF:
            return leaves[name]
        case Apply(operands=operands):
            return replace(value, operands=tuple(_with_leaves(one, leaves) for one in operands))
    return value


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
        ProjectedColumn(one.name, values.value(one.expression), _held(one.type)) for one in query.outputs
    ]
    columns += [
        ProjectedColumn(START_NUMBER, ColumnValue("", MATCH_START), "bigint"),
        ProjectedColumn(END_NUMBER, ColumnValue("", MATCH_END), "bigint"),
    ]
    return RowProjection(tuple(columns), where, tuple(values.lists))


def _held(type: DataType) -> ValueType:
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
            return Constant(1.0)
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


def _as_events(one: StreamedQuery, stream: Stream, read: StreamedQuery) -> RowProjection:
    """The rows of `read` as the events that a query reads under the name of that stream."""
    if stream.query is None:
        raise UnsupportedNetwork(f"reading the result of `{read.name}` as a table")
    clocks = (read.query.clock.type, one.query.clock.type)
    if clocks[1] == TIMESTAMP and clocks[0] in (DATE, TIMESTAMP_NTZ):
        raise UnsupportedNetwork(
            f"`{read.name}` has times of type {clocks[0]}, which are instants only in a time zone"
        )
    return DerivedEvents(one.planned, stream, read.query).projection()


@dataclass(frozen=True)
class DerivedEvents:
    """The events that a query reads of another one: their columns, computed from its rows."""

    planned: KernelPlan
    stream: Stream
    read: Match

    def projection(self) -> RowProjection:
        roles = [role for role in self.planned.plan.roles if self._is_member(role.type)]
        columns = [ProjectedColumn(START, ColumnValue("", START_NUMBER), "bigint")]
        if self.planned.program.lasting:
            columns.append(ProjectedColumn("end", ColumnValue("", END_NUMBER), "bigint"))
        columns.append(ProjectedColumn("roles", self._roles(roles), "bigint"))
        columns += [self._key(key) for key in self.planned.keys if not key.is_column]
        columns += [self._column(column) for column in self.planned.columns]
        where = () if self.planned.program.everything else self._has_role(roles)
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
        return ProjectedColumn(key.name, value, value_type(_key_type(key)))

    def _column(self, column: EventColumn) -> ProjectedColumn:
        is_key = column.name in [key.name for key in self.planned.keys]
        counts = self.planned.program.everything and is_key
        value: Value = Constant(None)
        if counts or any(map(self._is_member, column.types)):
            value = self.value(column.expression)
        if column.form == NUMBER:
            return ProjectedColumn(column.name, Apply("number_of", (value,)), "bigint")
        return ProjectedColumn(column.name, value, _held(column.type))

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
            case e.EventTime(e.Variable(), name, type):
                is_start = bare(name).lower() == "ts"
                number = ColumnValue("", START_NUMBER if is_start else END_NUMBER)
                unit = None if type in DATETIMES else self.stream.unit
                own = self.read.clock.type
                kind = own if unit is None and own in DATETIMES else type
                return _as_type(time_value(number, self.planned.plan.unit, Clock(kind, unit)), kind, type)
        return None


def _as_type(value: Value, have: DataType, want: DataType) -> Value:
    if have == want:
        return value
    return Apply("cast", (value, Constant(value_type(have))), value_type(want))


def _all_of(conditions: tuple[Value, ...]) -> Value:
    return conditions[0] if len(conditions) == 1 else Apply("and", conditions)
