"""A bound network of JEPC's event algebra: operators over streams of events with valid times.

An operator stands for an event stream: at every instant a multiset of payloads. An attribute of a payload is
named by a variable and a column, `servers.memory`: a source, and every operator that makes new payloads, says
the `variable` its attributes are known by. Windows, filters and correlators keep the attributes of their
inputs, so that a condition reads the same wherever it may stand.

Promises of the binder: references are `Attribute`s of the payload of the input; variables of the inputs of a
correlator differ; implicit casts are explicit; sizes of windows are whole numbers of instants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from neelc.ir.bound_rows import Sequential, Temporal
from neelc.ir.expressions import Attribute, Expr, Variable
from neelc.ir.names import bare, written
from neelc.ir.node import Node, walk
from neelc.ir.patterns import Window
from neelc.ir.program import Clock, Column, OutputColumn, Stream
from neelc.ir.types import DATE, LENGTHS
from neelc.runtime.late_dataclass import dataclass

AGGREGATES = ("avg", "count", "max", "min", "stddev", "stddev_pop", "stddev_samp", "sum")
"""What an aggregator can compute: JEPC's six, and the two deviations by their full names."""

START, END = "ts", "te"
"""The last columns of every result: the first instant at which a payload is valid, and the first at which it
no longer is; NULL if it has no end."""


@dataclass(frozen=True)
class Operator(Node):
    """An event stream, and how it is made."""

    @property
    def payload(self) -> tuple[Attribute, ...]:
        """The attributes that the operators above can name."""
        raise NotImplementedError


@dataclass(frozen=True)
class StreamSource(Operator):
    """The events of a stream or of a query before.

    An event of a declared stream is valid from its time on, for one instant of its clock, or up to its end,
    that included. An event of a query is valid as the query says: see `Stream.half_open`.
    """

    variable: str
    stream: Stream
    clock: Clock = field(kw_only=True)

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return attributes(self.variable, self.stream.columns)


@dataclass(frozen=True)
class RelationSource(Operator):
    """Rows that are valid forever: an input of a correlator, and of nothing else."""

    variable: str
    stream: Stream

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return attributes(self.variable, self.stream.columns)


@dataclass(frozen=True)
class TimeWindow(Operator):
    """Each event stays valid `size` long: at an instant t, those of the time (t - size, t] are valid.

    With `jump`, t is the last multiple of `jump` since the epoch: what is valid changes there only. `clock`
    is that of the input, and tells how long an instant is: an event that is valid for several instants stays
    valid until the last of them has left the window.
    """

    input: Operator
    size: Window
    jump: Window | None = None
    clock: Clock = field(kw_only=True)

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return self.input.payload


@dataclass(frozen=True)
class CountWindow(Operator):
    """The `size` latest events are valid, of each partition; simultaneous events come and go together.

    With `jump`, only after every so many events what is valid changes.
    """

    input: Operator
    size: int
    jump: int = 1
    partition: tuple[Attribute, ...] = ()

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return self.input.payload


@dataclass(frozen=True)
class Filter(Operator):
    """The payloads for which the condition is TRUE. HAVING is one above an aggregator."""

    input: Operator
    condition: Expr

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return self.input.payload


@dataclass(frozen=True)
class Correlator(Operator):
    """At every instant, the payloads of all inputs combined, where the condition is TRUE (None: all)."""

    inputs: tuple[Operator, ...]
    condition: Expr | None = None

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return tuple(attribute for one in self.inputs for attribute in one.payload)


@dataclass(frozen=True)
class Aggregator(Operator):
    """At every instant, one payload for each group of equal `groups` that has an event.

    The expressions of `groups` and, in `aggregates`, the `Aggregate`s that are those of AGGREGATES, are over
    the payload of the input. DISTINCT is an aggregator that has groups only.
    """

    input: Operator
    variable: str
    groups: tuple[OutputColumn, ...]
    aggregates: tuple[OutputColumn, ...] = ()

    @property
    def payload(self) -> tuple[Attribute, ...]:
        made = (Column(one.name, one.type) for one in (*self.groups, *self.aggregates))
        return attributes(self.variable, tuple(made))


@dataclass(frozen=True)
class Projection(Operator):
    """Payloads computed from payloads, one from one: the list of a SELECT."""

    input: Operator
    variable: str
    outputs: tuple[OutputColumn, ...]

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return attributes(self.variable, tuple(Column(one.name, one.type) for one in self.outputs))


@dataclass(frozen=True)
class Coalesced(Operator):
    """The same snapshots in canonical intervals: for every payload p and every k from 1, the longest
    intervals in which p is there at least k times. One stands above every SELECT that aggregates, and says
    which its events are."""

    input: Operator

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return self.input.payload


@dataclass(frozen=True)
class PatternMatcher(Operator):
    """MATCH_RECOGNIZE_SEQUENTIAL over the first instants of the events of its input.

    The payload of a match is its measures. A match is valid at the first instant of its last event; `clock`
    is that of the input, and tells how long an instant is.
    """

    input: Operator
    variable: str
    clause: Sequential
    clock: Clock = field(kw_only=True)

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return attributes(self.variable, self.clause.output)


@dataclass(frozen=True)
class TemporalMatcher(Operator):
    """MATCH_RECOGNIZE_TEMPORAL over the first instants of the events of its input.

    The payload of a match is its measures. A match is valid at the instant at which it is decided, or at the
    last of the ends that its measures tell, if that is later; `clock` is that of the input, and tells how
    long an instant is.
    """

    input: Operator
    variable: str
    clause: Temporal
    clock: Clock = field(kw_only=True)

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return attributes(self.variable, self.clause.output)


@dataclass(frozen=True)
class Merger(Operator):
    """The events of several inputs, in one stream: the payloads of all inputs have the same attributes."""

    inputs: tuple[Operator, ...]

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return self.inputs[0].payload


AgentFunction = Callable[..., Any]
"""What a user has registered. Two of them are equal if they are the same."""


@dataclass(frozen=True)
class Agent(Operator):
    """What a user's function makes of event streams: DataFrames, each with the payload's columns and then
    `ts` and `te` as `clock` writes them, become one with `columns`, `ts` and `te`.

    `rows` is the same for the reference interpreter: lists of dictionaries become one.
    """

    inputs: tuple[Operator, ...]
    variable: str
    name: str
    columns: tuple[Column, ...]
    function: AgentFunction = field(repr=False)
    rows: AgentFunction | None = field(default=None, repr=False)
    clock: Clock = field(kw_only=True)

    @property
    def payload(self) -> tuple[Attribute, ...]:
        return attributes(self.variable, self.columns)


@dataclass(frozen=True)
class Algebra(Node):
    """A bound SELECT. `clock` is how the times of its result are written: all its sources' times can be."""

    root: Operator
    clock: Clock
    aggregated = True  # its rows are payloads of snapshots, not matches
    is_ordered = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result: the payload's, then the valid time."""
        payload = tuple(Column(bare(one.name), one.type) for one in self.root.payload)
        return (*payload, Column(START, self.clock.type), Column(END, self.clock.type))

    @property
    def streams(self) -> tuple[Stream, ...]:
        """What the query reads: streams, relations and queries before, each once."""
        read = (node.stream for node in walk(self.root) if isinstance(node, StreamSource | RelationSource))
        return tuple({stream.name: stream for stream in read}.values())


def attributes(variable: str, columns: tuple[Column, ...]) -> tuple[Attribute, ...]:
    """The columns as attributes of a variable, which is in source form.

    >>> from neelc.ir.types import INT
    >>> print(*attributes("servers", (Column("id", INT), Column("at rest", INT))))
    servers.id servers.`at rest`
    """
    return tuple(Attribute(Variable(variable), written(one.name), one.type) for one in columns)


def instant(clock: Clock) -> int:
    """How long an instant of a clock is, in nanoseconds: JEPC's chronon.

    >>> from neelc.ir.types import BIGINT, TIMESTAMP
    >>> instant(Clock(BIGINT, "SECOND")), instant(Clock(TIMESTAMP))
    (1000000000, 1000)
    """
    return LENGTHS[clock.unit or ("DAY" if clock.type == DATE else "MICROSECOND")]


def inputs_of(operator: Operator) -> tuple[Operator, ...]:
    """The operators directly below."""
    match operator:
        case Correlator(inputs) | Agent(inputs) | Merger(inputs):
            return inputs
        case StreamSource() | RelationSource():
            return ()
    found = getattr(operator, "input")  # noqa: B009
    assert isinstance(found, Operator)
    return (found,)


# Which events there are: the algebra tells what is valid at every instant, some operators ask for events.


def is_pointwise(operator: Operator) -> bool:
    """Whether every event is valid at one instant only."""
    match operator:
        case StreamSource(_, stream):
            return stream.end is None
        case Filter() | Projection():
            return is_pointwise(operator.input)
        case Correlator(inputs):
            return any(map(is_pointwise, inputs))
        case Merger(inputs):
            return all(map(is_pointwise, inputs))
    return isinstance(operator, PatternMatcher | TemporalMatcher)


def has_only_points(operator: Operator) -> bool:
    """Whether nothing in it lasts: it is made of events of one instant each, without a window.

    What an aggregate tells of such events it tells of single instants. A match is at one instant, whatever it
    is a match of; and a relation is valid forever, but it makes no event last.
    """
    match operator:
        case StreamSource(_, stream):
            return stream.end is None or stream.only_points
        case RelationSource() | PatternMatcher() | TemporalMatcher():
            return True
        case Filter() | Projection() | Coalesced() | Aggregator() | Correlator() | Merger():
            return all(map(has_only_points, inputs_of(operator)))
    return False


def is_time(expression: Expr, operator: Operator) -> bool:
    """Whether an expression over the payload of an operator is the time of one of its sources."""
    match expression, operator:
        case Attribute(Variable(variable), name), StreamSource(known, stream):
            return variable == known and stream.query is None and bare(name) == stream.start
        case Attribute(_, name), Projection(input, _, outputs):
            return any(one.name == bare(name) and is_time(one.expression, input) for one in outputs)
        case Attribute(), Filter() | Correlator():
            return any(is_time(expression, one) for one in inputs_of(operator))
    return False
