"""Queries that read queries, over streams without end: which node each is of the one operator that runs them
all, how much later than the streams it is, and by which keys events are spread over buckets.

A node is a query in one of the languages: it says what its kernel runs, what makes rows of the results, and
what makes its own events of the rows of another. Between two nodes, rows have the columns of the query's
result, and their times as numbers, the last instant included.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf

from neelc.algebra.plan.network import NetworkPlan, QueryPlan
from neelc.algebra.plan.streamed import (
    MeetingKey,
    RowBounds,
    StreamedInput,
    StreamedNetwork,
    meeting_keys,
    row_bounds,
)
from neelc.algebra.rules.rule import place_of
from neelc.errors import NeelError
from neelc.ir import algebra as a
from neelc.ir import expressions as e
from neelc.ir.bound_rows import HostQuery, SimpleQuery
from neelc.ir.expressions import Expr
from neelc.ir.names import bare
from neelc.ir.node import Node, walk
from neelc.ir.patterns import targets
from neelc.ir.program import Clock, Match, Stream
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import DATE, LENGTHS, TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.pattern.analysis.regions import plain
from neelc.pattern.plan.blocks import UnsupportedQuery, renamed
from neelc.pattern.plan.columns import EVENT, network_unit, stream_unit, width_of
from neelc.pattern.plan.emission import StreamPlan
from neelc.pattern.plan.kernel_plan import START, KernelPlan
from neelc.pattern.plan.plan import types_of_variables
from neelc.pattern.plan.plan_to_program import may_be_absent
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.pattern.plan.stream_network import (
    END_NUMBER,
    START_NUMBER,
    DerivedEvents,
    UnsupportedNetwork,
    held_type,
    key_type,
    network_columns,
    rows_of_groups,
    rows_of_matches,
    time_value,
)
from neelc.rows.bind.simple import understood
from neelc.rows.plan.expression_to_value import lowered
from neelc.rows.plan.plan import ClausePlan, HostPlan, time_unit
from neelc.rows.plan.streams import ClauseValues
from neelc.runtime.kernels.rows.program import StreamedRows, sight
from neelc.runtime.kernels.snapshots.program import SOURCE, SnapshotNetwork
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    MATCH_END,
    MATCH_START,
    Apply,
    ColumnValue,
    Constant,
    MatchValue,
    NetworkNode,
    NetworkProgram,
    NodeReading,
    ProjectedColumn,
    RowProjection,
    StreamedGroups,
    StreamedImprecise,
    StreamedPattern,
    StreamedProgram,
    Value,
)
from neelc.runtime.reference.results import is_over_matches
from neelc.runtime.values.types import ValueType
from neelc.scalar.type_of import DATETIMES, is_zoned, type_of, value_type
from neelc.source import Source, Span

Keys = Mapping[int, tuple[str, ...]]
"""The columns of keys, for each of the inputs that a query reads from outside. A PATTERN has one."""


class QueryNode(ABC):
    """A query of a network. Others read it by its `name`."""

    name: str | None
    span: Span | None

    @property
    def title(self) -> str:
        return f"`{self.name}`" if self.name else "the last query"

    @property
    @abstractmethod
    def unit(self) -> str:
        """What it counts time in."""

    @property
    @abstractmethod
    def clock(self) -> Clock: ...

    @property
    @abstractmethod
    def streams(self) -> tuple[Stream, ...]: ...

    @property
    def outside(self) -> tuple[Stream, ...]:
        """The streams with events that it reads from outside."""
        return tuple(one for one in self.streams if one.producer is None and not one.is_relation)

    @property
    def read(self) -> tuple[Stream, ...]:
        """The results of other queries that it reads."""
        return tuple(one for one in self.streams if one.producer is not None)

    @property
    def longest_event(self) -> int | None:
        """The longest time between the start and the end of an event that makes a difference; None if it may
        be any."""
        return None

    @property
    @abstractmethod
    def evaluated(self) -> Iterator[Expr]:
        """What workers may evaluate of it."""

    @abstractmethod
    def program(self) -> StreamedProgram: ...

    @abstractmethod
    def rows(self, read_as: Sequence[Stream]) -> RowProjection:
        """What makes rows of results, for queries that read them as these streams."""

    @abstractmethod
    def events(self, stream: Stream, read: QueryNode, longest: int | None) -> Iterator[RowProjection]:
        """What makes events of the rows of another query; those that last longer than `longest` are left
        out."""

    @abstractmethod
    def schema(self) -> Iterator[tuple[str, ValueType]]:
        """The columns of its events."""

    @abstractmethod
    def bounds(self, read: Mapping[str, float]) -> RowBounds:
        """The longest time between the start and the end of a row, and how much earlier than the watermark
        those may start that have yet to be emitted. `read` are the longest times of the queries that it
        reads."""

    @abstractmethod
    def delay_of_short(self, longest: int) -> float:
        """The same delay, of rows that last no longer than that."""

    @abstractmethod
    def delay_of_time(self, column: str, whole: float) -> float:
        """The same delay, if rows are ordered by a column of its result: how much earlier than the watermark
        the times in it may be that have yet to come. Infinite if it has other values than times of the row,
        for which it is `whole` at most."""

    @property
    @abstractmethod
    def orders(self) -> str:
        """By what its rows can be ordered, for people."""

    @abstractmethod
    def without_bound(self) -> UnsupportedNetwork:
        """Why it cannot be read."""

    # Keys: of those that all events have that it brings together.

    @property
    @abstractmethod
    def key_types(self) -> tuple[DataType, ...]:
        """The types of its keys."""

    @abstractmethod
    def key_title(self, number: int) -> str: ...

    @abstractmethod
    def key_columns(self, number: int) -> Mapping[int, str]:
        """The column of a key, for each input from outside."""

    @abstractmethod
    def key_read(self, number: int, stream: Stream) -> tuple[str, ...] | None:
        """The columns of another query's rows that have the values of a key, in lower case; None if there are
        none."""

    @abstractmethod
    def key_carried(self, column: str) -> int | None:
        """The number of the key whose value this column of its rows has; None if it has none."""


# PATTERN.


@dataclass(frozen=True)
class PatternNode(QueryNode):
    """A PATTERN of a network."""

    name: str | None
    plan: StreamPlan
    span: Span | None = None

    @property
    def planned(self) -> KernelPlan:
        return self.plan.planned

    @property
    def query(self) -> Match:
        return self.planned.query

    @property
    def unit(self) -> str:
        return self.planned.plan.unit

    @property
    def clock(self) -> Clock:
        return self.query.clock

    @property
    def streams(self) -> tuple[Stream, ...]:
        return self.query.streams

    @property
    def longest_event(self) -> int | None:
        """No match is longer than the window, nor is what spoils one. Other strategies look at events that
        are in no match."""
        return self._window if self.query.strategy == SelectionStrategy.ANY_MATCH else None

    @property
    def _window(self) -> int | None:
        """The longest time of a match; None without a window of time."""
        if self.query.within is None:
            return None
        width, counts_events = width_of(self.query.within, self.unit)
        return None if counts_events else width

    @property
    def evaluated(self) -> Iterator[Expr]:
        yield from (output.expression for output in self.query.outputs)
        yield from self.planned.residual
        yield from (condition for role in self.planned.plan.roles for condition in role.conditions)
        yield from (column.expression for column in self.planned.columns)
        yield from (term for key in self.planned.keys for term, _ in key.terms)

    def program(self) -> StreamedPattern | StreamedGroups | StreamedImprecise:
        return self.plan.streamed

    def rows(self, read_as: Sequence[Stream] = ()) -> RowProjection:
        if self.plan.counted is not None:
            return rows_of_groups(self.plan.counted)
        if self.plan.is_listed:
            refusal = UnsupportedNetwork(
                f"reading {self.title}, whose matches are enumerated for its aggregates", self.span
            )
            refusal.hint = (
                "aggregates that can be counted can be read, such as count(*) and sum(b.x) of a SEQ"
            )
            raise refusal
        return rows_of_matches(self.planned)

    def events(self, stream: Stream, read: QueryNode, longest: int | None) -> Iterator[RowProjection]:
        yield DerivedEvents(self.planned, stream, read.clock, longest).projection()

    def schema(self) -> Iterator[tuple[str, ValueType]]:
        yield from network_columns(self.planned)

    def bounds(self, read: Mapping[str, float]) -> RowBounds:
        window, program = self._window, self.program()
        if isinstance(program, StreamedImprecise):
            # An event may have happened long ago, and be in a match with others that come now.
            return RowBounds(inf, inf)
        if isinstance(program, StreamedGroups):
            if program.grouping.span:
                return RowBounds(inf, inf)
            # All matches of a group have its time t, and come when that is a window ago.
            starts_at_time = program.grouping.values[program.grouping.time] == MatchValue(MATCH_START)
            longest = program.window if starts_at_time else 2 * program.window
            return RowBounds(longest, longest)
        if program.single:
            lasting = inf if self.planned.program.lasting else 0
            return RowBounds(lasting if window is None else window, 0)
        if window is None:
            return RowBounds(inf, inf)
        # With RETURN COLLAPSED, lists reach a window back and forth from what matches have in common.
        longest = 2 * window if self.query.collapsed else window
        return RowBounds(longest, longest)

    def delay_of_short(self, longest: int) -> float:
        return longest + 1 + self._wait

    @property
    def _wait(self) -> float:
        """How long the end of a match may have passed, at most, that is not emitted. A match is sure when the
        watermark reaches its end, unless it waits for more events to come."""
        program = self.program()
        if isinstance(program, StreamedGroups):
            return inf if program.grouping.span else program.window
        if isinstance(program, StreamedImprecise):
            return 0 if program.is_immediate else program.window
        if not program.emission.may_wait and not self.query.collapsed:
            return 0
        return inf if self._window is None else self._window

    def delay_of_time(self, column: str, whole: float) -> float:
        absent = frozenset(may_be_absent(self.planned.plan.steps))
        grouped = [one for one in self.query.outputs if not is_over_matches(one.expression)]
        for place, output in enumerate(grouped):
            program = self.program()
            if output.name != column:
                continue
            if isinstance(program, StreamedGroups) and program.grouping.span:
                return inf
            if isinstance(program, StreamedGroups) and place == program.grouping.time:
                return program.window
            match output.expression:
                case e.MatchProperty(name) if bare(name).lower() == MATCH_END:
                    return min(whole, self._wait)
                case e.MatchProperty(name) if bare(name).lower() == MATCH_START:
                    return whole
                case e.Attribute(e.Variable(name)) | e.EventTime(e.Variable(name)) as time:
                    is_single = name in targets(self.query.pattern) and name not in absent
                    if is_single and self.planned.field(time, name) == START:
                        return whole
        return inf

    @property
    def orders(self) -> str:
        return f"let {self.title} return match_end, and begin with that: ORDER BY match_end"

    def without_bound(self) -> UnsupportedNetwork:
        if isinstance(self.program(), StreamedImprecise):
            refusal = UnsupportedNetwork(
                f"{self.title} has imprecise times, and its matches can begin any time before they are known",
                self.span,
            )
            refusal.hint = (
                f"read {self.title} by a PATTERN under SKIP TILL ANY MATCH with a window of time, or by "
                "MATCH_RECOGNIZE with ORDER BY match_end"
            )
            return refusal
        if isinstance(self.program(), StreamedGroups):
            refusal = UnsupportedNetwork(
                f"{self.title} has rows of a span of time, which can begin any time before they are known",
                self.span,
            )
            refusal.hint = f"let {self.title} return the time of an event as it is"
            return refusal
        refusal = UnsupportedNetwork(
            f"{self.title} has a window of EVENTS, so it is not known when all of its matches have come",
            self.span,
        )
        refusal.hint = f"give {self.title} a window of time, such as WITHIN 1 HOUR"
        return refusal

    @property
    def key_types(self) -> tuple[DataType, ...]:
        return tuple(map(key_type, self.planned.keys))

    def key_title(self, number: int) -> str:
        return f"the key {self.planned.keys[number].name} of `{self.name or self.query.pattern}`"

    def key_columns(self, number: int) -> Mapping[int, str]:
        return {0: self.planned.keys[number].name}

    def key_read(self, number: int, stream: Stream) -> tuple[str, ...] | None:
        types = [t.name for t in self.query.types if any(one.stream == stream.name for one in t.members)]
        terms = [term for term, of in self.planned.keys[number].terms if set(of) & set(types)]
        match [plain(term) for term in terms]:
            case [e.Attribute(e.Variable(), name)]:
                return (bare(name).casefold(),)
        return None

    def key_carried(self, column: str) -> int | None:
        absent = frozenset(may_be_absent(self.planned.plan.steps))
        match [output.expression for output in self.query.outputs if output.name.casefold() == column]:
            case [e.Attribute(e.Variable(variable)) as returned] if variable not in absent:
                term = renamed(returned, variable, EVENT)
                own = set(types_of_variables(self.planned.plan).get(variable, ()))
                for place, key in enumerate(self.planned.keys):
                    if own and [plain(one) for one, of in key.terms if own & set(of)] == [term]:
                        return place
        return None


# SELECT.


@dataclass(frozen=True)
class SelectNode(QueryNode):
    """A SELECT of a network: one kernel runs all its operators."""

    name: str | None
    plan: NetworkPlan
    span: Span | None = None

    @property
    def query(self) -> a.Algebra:
        return self.plan.query

    @property
    def unit(self) -> str:
        return self.plan.unit

    @property
    def clock(self) -> Clock:
        return self.query.clock

    @property
    def streams(self) -> tuple[Stream, ...]:
        return self.query.streams

    @property
    def streamed(self) -> StreamedNetwork:
        assert self.plan.streamed is not None, "it is planned for streams"
        return self.plan.streamed

    @property
    def instant(self) -> int:
        return a.instant(self.clock) // LENGTHS[self.unit]

    @property
    def evaluated(self) -> Iterator[Expr]:
        yield from ()  # what depends on a time zone is refused

    def program(self) -> SnapshotNetwork:
        assert self.streamed.kernel is not None, "a query that reads others has a kernel, and so has one read"
        return self.streamed.kernel

    def rows(self, read_as: Sequence[Stream] = ()) -> RowProjection:
        payload = zip(self.query.columns, self.query.root.payload, strict=False)
        columns = [
            ProjectedColumn(
                column.name, ColumnValue("", self.streamed.columns[place_of(one)]), held_type(column.type)
            )
            for column, one in payload
        ]
        if any(stream.rows_of for stream in read_as):
            for column, number in zip(self.query.columns[-2:], ("start", "end"), strict=True):
                time = time_value(ColumnValue("", number), self.unit, self.clock)
                columns.append(ProjectedColumn(column.name, time, held_type(column.type)))
        last = Apply("-", (ColumnValue("", "end"), Constant(self.instant)), "bigint")
        columns += [
            ProjectedColumn(START_NUMBER, ColumnValue("", "start"), "bigint"),
            ProjectedColumn(END_NUMBER, last, "bigint"),
        ]
        return RowProjection(tuple(columns))

    def events(self, stream: Stream, read: QueryNode, longest: int | None) -> Iterator[RowProjection]:
        for number, given in enumerate(self.streamed.inputs):
            if given.read == stream:
                yield self._input(number, given)

    def _input(self, number: int, given: StreamedInput) -> RowProjection:
        end = Apply("+", (ColumnValue("", END_NUMBER), Constant(self.instant)), "bigint")
        times: tuple[tuple[str, Value], ...] = (("start", ColumnValue("", START_NUMBER)), ("end", end))
        columns = [ProjectedColumn(name, value, "bigint") for name, value in times]
        if len(self.streamed.inputs) > 1:
            columns.append(ProjectedColumn(SOURCE, Constant(number), "int"))
        for one, name in given.columns:
            assert isinstance(one, e.Attribute), "of the results of another query, columns are read"
            columns.append(ProjectedColumn(name, ColumnValue("", bare(one.name)), held_type(type_of(one))))
        return RowProjection(tuple(columns))

    def schema(self) -> Iterator[tuple[str, ValueType]]:
        yield from (("start", "bigint"), ("end", "bigint"), (SOURCE, "int"))
        for given in self.streamed.inputs:
            yield from ((name, held_type(type_of(one))) for one, name in given.columns)

    def bounds(self, read: Mapping[str, float]) -> RowBounds:
        lengths = {
            number: self._longest(given, read) + self.instant
            for number, given in enumerate(self.streamed.inputs)
        }
        found = row_bounds(self.program().root, lengths)
        return RowBounds(found.length - self.instant, found.delay)

    def _longest(self, given: StreamedInput, read: Mapping[str, float]) -> float:
        (stream,) = (node.stream for node in walk(given.operator) if isinstance(node, a.StreamSource))
        if stream.producer is not None:
            return read[stream.producer]
        return 0 if stream.end is None else inf

    def delay_of_short(self, longest: int) -> float:
        """A row is emitted when the watermark reaches its end."""
        return longest + self.instant

    def delay_of_time(self, column: str, whole: float) -> float:
        """What has no end never comes: that is so for events that stay until others come."""
        start, end = (one.name for one in self.query.columns[-2:])
        if column == start:
            return whole
        stays = any(isinstance(node, a.CountWindow) for node in walk(self.query.root))
        return self.instant if column == end and not stays else inf

    @property
    def orders(self) -> str:
        return "begin with the time at which its rows end, ORDER BY te, if they are in windows of time"

    def without_bound(self) -> UnsupportedNetwork:
        refusal = UnsupportedNetwork(
            f"{self.title} can be valid for any time, and is known when it ends, but the query that reads it "
            "must know soon after a time what begins then",
            self.span,
        )
        refusal.hint = (
            f"read {self.title} by a PATTERN under SKIP TILL ANY MATCH with a window of time, which needs "
            "nothing that lasts longer; or let it end: events in windows of time, which are not grouped"
        )
        return refusal

    @cached_property
    def _keys(self) -> tuple[MeetingKey, ...]:
        return tuple(meeting_keys(self.program().root))

    @cached_property
    def _types(self) -> Mapping[tuple[int, str], Expr]:
        inputs = enumerate(self.streamed.inputs)
        return {(number, name): one for number, given in inputs for one, name in given.columns}

    @property
    def key_types(self) -> tuple[DataType, ...]:
        return tuple(
            type_of(self._types[number, name])
            for key in self._keys
            for number, name in list(key.inputs.items())[:1]
        )

    def key_title(self, number: int) -> str:
        names = dict.fromkeys(self._keys[number].inputs.values())
        return f"the key {', '.join(names)} of {self.title}"

    def key_columns(self, number: int) -> Mapping[int, str]:
        return {
            place: column
            for place, column in self._keys[number].inputs.items()
            if self.streamed.inputs[place].read is None
        }

    def key_read(self, number: int, stream: Stream) -> tuple[str, ...] | None:
        columns = []
        for place, name in self._keys[number].inputs.items():
            if self.streamed.inputs[place].read == stream:
                attribute = self._types[place, name]
                assert isinstance(attribute, e.Attribute), "of the results of another query, columns are read"
                columns.append(bare(attribute.name).casefold())
        return tuple(columns)

    def key_carried(self, column: str) -> int | None:
        payload = zip(self.query.columns, self.query.root.payload, strict=False)
        names = [
            self.streamed.columns[place_of(one)] for known, one in payload if known.name.casefold() == column
        ]
        keys = enumerate(self._keys)
        return next((number for number, key in keys if names and key.carried.issuperset(names)), None)


# MATCH_RECOGNIZE.


@dataclass(frozen=True)
class RecognizeNode(QueryNode):
    """A MATCH_RECOGNIZE. `simple` is the query around the clause, None where only Spark understands it: then
    it is the last. Others read it by the times that it declares, or as rows, in an order of their own."""

    name: str | None
    plan: HostPlan
    simple: SimpleQuery | None
    span: Span | None = None

    @property
    def clause(self) -> ClausePlan:
        return self.plan.clauses[0]

    @property
    def unit(self) -> str:
        return time_unit(self.clause.plan.query)

    @property
    def clock(self) -> Clock:
        type = type_of(self.clause.plan.query.order[0].expression)
        return Clock(type, None if type in DATETIMES else self.unit)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(one for one in self.plan.query.streams if one.name == self.clause.bound.reads)

    @property
    def evaluated(self) -> Iterator[Expr]:
        query = self.clause.plan.query
        yield from (one.condition for one in query.definitions)
        if self.read:
            yield from self.clause.plan.columns.values()
        if self.name is not None and self.simple is not None:
            yield from (one.expression for one in (*query.measures, *self.simple.outputs))
            yield from () if self.simple.where is None else (self.simple.where,)

    def program(self) -> StreamedRows:
        assert self.clause.streamed is not None, "it is planned for streams"
        return self.clause.streamed

    def rows(self, read_as: Sequence[Stream] = ()) -> RowProjection:
        simple = self._understood
        values = ClauseValues(self.clause.plan, simple)
        columns = [
            ProjectedColumn(one.name, values.value(one.expression), held_type(one.type))
            for one in simple.outputs
        ]
        for stream in [one for one in read_as if not one.is_relation][:1]:
            for name, time in ((START_NUMBER, stream.start), (END_NUMBER, stream.end or stream.start)):
                columns.append(ProjectedColumn(name, self._time(values, stream, time), "bigint"))
        where = () if simple.where is None else (values.value(simple.where),)
        return RowProjection(tuple(columns), where, tuple(values.lists))

    @property
    def _understood(self) -> SimpleQuery:
        assert self.simple is not None, "a query that another one reads is understood"
        return self.simple

    def _time(self, values: ClauseValues, stream: Stream, name: str) -> Value:
        """A time that the query declares, as a number: the time of a row of the match. So it is known when
        all have come."""
        query = self.clause.plan.query
        if not self._is_time_of_row(name):
            refusal = UnsupportedNetwork(
                f"{self.title}, whose time `{name}` is not that of a row of its match: it is not known "
                "when all that start at a time have come",
                self.span,
            )
            refusal.hint = f"declare a time that is a measure such as {self._measures}"
            raise refusal
        type = type_of(query.order[0].expression)
        if type not in DATETIMES and stream.unit != query.unit:
            raise UnsupportedNetwork(f"{self.title}, which counts times in two units", self.span)
        (declared,) = (one.expression for one in self._understood.outputs if one.name == name)
        return _time_number(values.value(declared), type)

    def _is_time_of_row(self, column: str) -> bool:
        """Whether a column of the result is the time of a row of the match."""
        match ClauseValues(self.clause.plan, self._understood).behind(column):
            case e.AtRow(_, argument, shift=0):
                return argument == self.clause.plan.query.order[0].expression
        return False

    @property
    def _measures(self) -> str:
        """Those that are times of rows of a match, for people."""
        order = self.clause.plan.query.order[0].expression
        shown = f"{bare(order.name)}" if isinstance(order, e.Attribute) else str(order)
        return f"FIRST({shown}) or LAST({shown})"

    # What it reads of another query: a row is what Spark would compute of a row from outside.

    @property
    def time_column(self) -> str:
        """The column that its rows are ordered by."""
        first = self.clause.plan.query.order[0].expression
        assert isinstance(first, e.Attribute), "rows are ordered by a column"
        return bare(first.name)

    def events(self, stream: Stream, read: QueryNode, longest: int | None) -> Iterator[RowProjection]:
        assert longest is None, "every row counts"
        plan = self.clause.plan
        time = ColumnValue("", self.time_column)
        columns = [
            ProjectedColumn("start", _time_number(time, type_of(plan.query.order[0].expression)), "bigint")
        ]
        for name, type in self._columns():
            value = _of_row(plan.columns[name])
            if name in plan.numbers:
                value = Apply("number_of", (value,), "bigint")
            if name in plan.keys and type == "double":
                # Equal numbers must be equal as keys: zero has two forms.
                value = Apply("+", (value, Constant(0.0)), "double")
            columns.append(ProjectedColumn(name, value, type))
        if plan.program.flagged:
            columns.append(ProjectedColumn("bits", self._bits(), self._type_of_bits))
        yield RowProjection(tuple(columns))

    def _columns(self) -> Iterator[tuple[str, ValueType]]:
        plan = self.clause.plan
        for name in self.program().columns:
            if name in plan.columns:
                is_number = name in plan.numbers
                yield name, "bigint" if is_number else held_type(type_of(plan.columns[name]))

    def _bits(self) -> Value:
        """Which variables' conditions a row meets."""
        total: Value = Constant(0)
        for number, conjuncts in enumerate(self.clause.plan.bits):
            bit: Value = Constant(1 << number)
            for condition in map(_of_row, conjuncts):
                bit = Apply("if", (condition, bit, Constant(0)), self._type_of_bits)
            total = bit if total == Constant(0) else Apply("+", (total, bit), self._type_of_bits)
        return total

    @property
    def _type_of_bits(self) -> ValueType:
        return "bigint" if len(self.clause.plan.bits) > 30 else "int"

    def schema(self) -> Iterator[tuple[str, ValueType]]:
        yield "start", "bigint"
        yield from self._columns()
        if self.clause.plan.program.flagged:
            yield "bits", self._type_of_bits

    def bounds(self, read: Mapping[str, float]) -> RowBounds:
        """A match is decided when WITHIN has passed since its first row, if nothing after it counts."""
        program = self.clause.plan.program
        _, ahead = sight(program)
        if program.reach is None or ahead:
            return RowBounds(inf, inf)
        return RowBounds(program.reach, program.reach)

    def delay_of_short(self, longest: int) -> float:
        return inf

    def delay_of_time(self, column: str, whole: float) -> float:
        return whole if self._is_time_of_row(column) else inf

    @property
    def orders(self) -> str:
        return f"begin with a measure of {self.title} such as {self._measures}"

    def without_bound(self) -> UnsupportedNetwork:
        refusal = UnsupportedNetwork(
            f"{self.title} has no time in which its matches are decided, so it is not known when all of them "
            "have come",
            self.span,
        )
        refusal.hint = (
            "add WITHIN after PATTERN, such as WITHIN 1 HOUR, and leave out NEXT, if it looks further"
        )
        return refusal

    @property
    def key_types(self) -> tuple[DataType, ...]:
        plan = self.clause.plan
        return tuple(type_of(plan.columns[name]) for name in plan.keys)

    def key_title(self, number: int) -> str:
        return f"the key {self.clause.plan.keys[number]} of {self.title}"

    def key_columns(self, number: int) -> Mapping[int, str]:
        return {0: self.clause.plan.keys[number]}

    def key_read(self, number: int, stream: Stream) -> tuple[str, ...] | None:
        plan = self.clause.plan
        match plan.columns[plan.keys[number]]:
            case e.Attribute(_, name):
                return (bare(name).casefold(),)
        return None

    def key_carried(self, column: str) -> int | None:
        plan = self.clause.plan
        names = [one.name for one in self._understood.outputs if one.name.casefold() == column]
        for name in names:
            match ClauseValues(plan, self._understood).behind(name):
                case e.Attribute(_, own) if bare(own) in plan.query.partition:
                    return plan.query.partition.index(bare(own))
        return None


def _of_row(expression: Expr) -> Value:
    """An expression over one row, given its columns."""

    def leaf(node: Node) -> Value | None:
        match node:
            case e.AtRow(_, argument, shift=0):
                return _of_row(argument)
            case e.Attribute(e.Variable(variable), name) if variable == e.ROW:
                return ColumnValue("", bare(name))
        return None

    return lowered(expression, leaf)


def _time_number(value: Value, type: DataType) -> Value:
    """A time of this type as a number of its clock."""
    if type in DATETIMES:
        return Apply("number_of", (value,), "bigint")
    return Apply("cast", (value, Constant(value_type(type))), "bigint")


def _is_read_elsewhere(stream: Stream, plan: HostPlan) -> bool:
    """Whether a query around a clause reads a stream not, or not only, as the rows of the clause."""
    # sqlglot is there already where queries of Spark's are bound; others do without it.
    from neelc.rows.bind.host_text import stand_in_text
    from neelc.scalar.spark.trees import read_statement, same_name

    query, bound = plan.query, plan.clauses[0].bound
    if stream.name != bound.reads or bound.recognize.nested:
        return True
    statement = read_statement(stand_in_text(query.text, [bound.clause], query.place))
    return statement is not None and any(
        same_name(table[-1], stream.name) for table in statement.tables if len(table) == 1
    )


def _recognized(name: str | None, plan: HostPlan, span: Span | None) -> RecognizeNode:
    """The node of a MATCH_RECOGNIZE; raises `UnsupportedNetwork` where only Spark understands the query."""
    query = plan.query
    for stream in (one for one in query.streams if one.producer is not None):
        if _is_read_elsewhere(stream, plan):
            what = f"reading the result of `{stream.producer}` elsewhere than as the rows of MATCH_RECOGNIZE"
            refusal = UnsupportedNetwork(what, span)
            refusal.hint = f"FROM {stream.name} MATCH_RECOGNIZE (...), without queries inside, can be read"
            raise refusal
    simple = query.simple
    if name is None:
        return RecognizeNode(name, plan, simple, span)
    if simple is None:
        try:
            simple = understood(query, Source(query.text), "")
        except NeelError:
            what = f"`{name}`, which only Spark understands, read by another query"
            raise UnsupportedNetwork(what, span) from None
    clause = plan.clauses[0].plan.query
    is_plain = simple.recognize is not None and isinstance(simple.reads, str) and not simple.nested
    if not is_plain or simple.distinct or simple.is_aggregate or clause.nested or clause.all_rows:
        what = f"`{name}`, more than a clause with its WHERE, read by another query"
        refusal = UnsupportedNetwork(what, span)
        refusal.hint = "ONE ROW PER MATCH, without DISTINCT, aggregates and queries inside can be read"
        raise refusal
    node = RecognizeNode(name, plan, simple, span)
    if node.bounds({}).delay == inf:
        raise node.without_bound()
    return node


# The network.


@dataclass(frozen=True)
class StreamNetwork:
    """Queries that run in one operator, and their program.

    `buckets` has, for each query, the columns of what it reads from outside by which events are spread over
    buckets: all that any query brings together have the same values there. None: there are no such columns,
    and all events are in one bucket; `reason` says why."""

    queries: tuple[QueryNode, ...]
    program: NetworkProgram
    buckets: tuple[Keys, ...] | None
    reason: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """What the columns are called where the last query has them."""
        several = (names for one in reversed(self.buckets or ()) for names in one.values())
        return next(several, ())


def query_node(name: str | None, plan: QueryPlan | UnsupportedQuery, span: Span | None = None) -> QueryNode:
    """The query of a network that has this plan; raises `UnsupportedNetwork` if it is none for a network."""
    match plan:
        case NetworkPlan():
            return SelectNode(name, plan, span)
        case StrategyPlan(plan=StreamPlan() as streamed):
            for stream in plan.query.streams:
                if stream.producer is not None and stream.derived:
                    what = f"the {stream.derived[0].name}, of what `{stream.name}` finds"
                    refusal = UnsupportedNetwork(what, stream.derived[0].span or span)
                    refusal.hint = f"return it in `{stream.name}`, and read it as an attribute"
                    raise refusal
            return PatternNode(name, streamed, span)
        case HostPlan():
            return _recognized(name, plan, span)
        case UnsupportedQuery():
            raise plan
    raise AssertionError("every query has a plan")


def common_unit(queries: Iterable[Match | a.Algebra | HostQuery]) -> str:
    """The unit that holds the times of all streams that any of the queries reads from outside."""
    units = []
    for query in queries:
        units += [stream_unit(one) for one in query.streams if one.producer is None and not one.is_relation]
        if isinstance(query, a.Algebra):
            units.append(network_unit(query))
    return min(units, key=LENGTHS.__getitem__)


def stream_network(queries: Sequence[QueryNode]) -> StreamNetwork:
    """The network of queries that read each other, each after those that it reads; raises `UnsupportedQuery`.
    All count times in one unit."""
    units = {one.unit for one in queries}
    if len(units) > 1:
        raise UnsupportedNetwork(f"queries that count time in different units: {', '.join(sorted(units))}")
    building = _NetworkBuilder({one.name: place for place, one in enumerate(queries) if one.name is not None})
    read = [stream for one in queries for stream in one.read]
    for one in queries:
        building.add(one, [stream for stream in read if stream.producer == one.name])
    zoned = any(is_zoned(expression) for one in queries for expression in one.evaluated)
    program = NetworkProgram(tuple(building.nodes), zoned)
    buckets = _buckets(queries, program)
    if isinstance(buckets, str):
        return StreamNetwork(tuple(queries), program, None, buckets)
    return StreamNetwork(tuple(queries), program, buckets)


class _NetworkBuilder:
    """Makes the nodes of a network, each after those that it reads."""

    def __init__(self, places: Mapping[str, int]) -> None:
        self.places = places
        self.queries: list[QueryNode] = []
        self.nodes: list[NetworkNode] = []
        self.bounds: dict[str, RowBounds] = {}

    def add(self, one: QueryNode, read_as: Sequence[Stream]) -> None:
        """Add a query, which others read as these streams; the last is read by none."""
        rows = one.rows(read_as) if read_as else None
        reads, lag = [], 0
        for stream in one.read:
            place = self.places[stream.producer or ""]
            read = self.queries[place]
            _check_clocks(one, stream, read)
            delay, longest = self._delay(one, read)
            made = one.events(stream, read, longest)
            if isinstance(read, RecognizeNode) and not isinstance(one, RecognizeNode):
                made = map(_with_times, made)
            reads += [NodeReading(place, projection) for projection in made]
            lag = max(lag, self.nodes[place].lag + delay)
        schema = tuple(one.schema()) if reads else ()
        self.nodes.append(NetworkNode(one.name or "", one.program(), lag, rows, tuple(reads), schema))
        self.queries.append(one)
        if one.name is not None:
            self.bounds[one.name] = one.bounds({name: known.length for name, known in self.bounds.items()})

    def _delay(self, reader: QueryNode, read: QueryNode) -> tuple[int, int | None]:
        """How much later than the watermark the rows of a query have come: those that start so much before
        it, or earlier, are known. And how long rows may be, if only those so short are known by then."""
        whole, longest = self.bounds[read.name or ""].delay, reader.longest_event
        if isinstance(reader, RecognizeNode):
            delay = read.delay_of_time(reader.time_column, whole)
            if delay == inf:
                raise _not_in_order(reader, read)
            return int(delay), None
        short = inf if longest is None else read.delay_of_short(longest)
        if min(whole, short) == inf:
            raise read.without_bound()
        return (int(whole), None) if whole <= short else (int(short), longest)


def _with_times(projection: RowProjection) -> RowProjection:
    """A row of MATCH_RECOGNIZE without a time, or that ends before it starts, is no event."""
    start, end = ColumnValue("", START_NUMBER), ColumnValue("", END_NUMBER)
    where = (Apply("isnotnull", (start,)), Apply("<=", (start, end)), *projection.where)
    return replace(projection, where=where)


def _not_in_order(reader: RecognizeNode, read: QueryNode) -> UnsupportedNetwork:
    refusal = UnsupportedNetwork(
        f"MATCH_RECOGNIZE of {read.title} by `{reader.time_column}`: it is not known when all of its rows "
        "up to a time have come",
        reader.span,
    )
    refusal.hint = read.orders
    return refusal


def _check_clocks(one: QueryNode, stream: Stream, read: QueryNode) -> None:
    if isinstance(one, RecognizeNode):
        return
    if stream.is_relation or stream.type_column is not None:
        raise UnsupportedNetwork(f"reading the result of `{read.name}` as a table", one.span)
    if one.clock.type == TIMESTAMP and read.clock.type in (DATE, TIMESTAMP_NTZ):
        raise UnsupportedNetwork(
            f"`{read.name}` has times of type {read.clock.type}, which are instants only in a time zone",
            read.span,
        )


# Where events meet: the columns by which they can be spread over buckets.

MOST_KEYS = 4


def _buckets(queries: Sequence[QueryNode], program: NetworkProgram) -> tuple[Keys, ...] | str:
    """For each query the columns that hold the same keys; or why there are none."""
    chosen: list[dict[int, tuple[str, ...]]] = [{} for _ in queries]
    last = queries[-1]
    text = last.query.pattern if isinstance(last, PatternNode) else last.title.strip("`")
    why, count = f"`{text}` has no key", 0
    for number in range(len(last.key_types)):
        if isinstance(last, PatternNode) and last.planned.keys[number].name not in last.plan.together:
            why = f"rows that are equal may have different keys {last.planned.keys[number].name}"
            continue
        traced = _traced(queries, number)
        if isinstance(traced, str):
            why = traced
            continue
        for own, one, key in zip(chosen, queries, traced, strict=True):
            for input, column in one.key_columns(key).items():
                own[input] = (*own.get(input, ()), column)
        count += 1
        if count == MOST_KEYS:
            break
    return tuple(chosen) if count else why


def _traced(queries: Sequence[QueryNode], number: int) -> list[int] | str:
    """The number of the key of each query that equals this key of the last one; or why there is none."""
    places = {query.name: place for place, query in enumerate(queries) if query.name is not None}
    found: list[int | None] = [None] * len(queries)
    found[-1] = number
    for place in range(len(queries) - 1, -1, -1):
        one, own = queries[place], found[place]
        if own is None:
            return f"what `{one.name}` finds is read without a key"
        for stream in one.read:
            at = places[stream.producer or ""]
            read = queries[at]
            for column in one.key_read(own, stream) or ("",):
                key = read.key_carried(column)
                if key is None:
                    return f"{one.key_title(own)} is no key of `{read.name}`"
                if found[at] not in (None, key):
                    return f"`{read.name}` is read by two of its keys"
                found[at] = key
    kinds = {one.key_types[key or 0] for one, key in zip(queries, found, strict=True)}
    if len(kinds) > 1:
        return "the keys of the queries have different types"
    return [key or 0 for key in found]
