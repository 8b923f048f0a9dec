"""The logical plan: a script after binding. Every name is resolved, every condition in its place.

A bound pattern is made of the same nodes as a parsed one, with these promises (`ir/check.py` tests them):
- every `Event` that is not the body of a `Repeat` has a variable, and so has every `Repeat`; all differ;
- references are `Attribute` and its kin, implicit casts are explicit, parameters are literals;
- each conjunct stands in the `where` of the innermost part it belongs to; `[id]` is a `Same` there;
- `within.count` is a literal; `within.unit` is a unit of time or EVENT, never None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING

from neelc.ir.expressions import Aggregate, Attribute, Expr, MatchProperty, Name, Variable
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import Pattern, Window
from neelc.ir.row_patterns import SortItem
from neelc.ir.script import Confidence, KeptMatches, Property, SelectionStrategy, Statistic
from neelc.ir.types import BIGINT, VOID, WHOLE_NUMBERS, DataType, is_orderable
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span

if TYPE_CHECKING:
    from neelc.ir.algebra import Algebra
    from neelc.ir.bound_rows import HostQuery


@dataclass(frozen=True)
class Column(Node):
    """A column of a stream or of a result. `name` is bare: without backticks. A derived one is not among the
    data: it is computed `of` an attribute ("" if of none), and `*` and whole events leave it out."""

    name: str
    type: DataType
    of: str | None = None


@dataclass(frozen=True)
class Clock(Node):
    """How times are written: the type of timestamps and, for integers, their unit."""

    type: DataType
    unit: str | None = None


SHAPES = ("UNIFORM", "TRIANGULAR")
"""The distributions of imprecise times that have a name."""


@dataclass(frozen=True)
class Stream(Node):
    """A table of events and what its columns mean. All names are bare.

    `start` holds `ts`; `end`, if any, holds `te`; with `latest`, the time is imprecise, one of start..latest:
    uniform, or by the `weights` of that column, or of the `shape` of that name, one of SHAPES, or of the one
    that the `shape_column` names. `unit` is the unit of integer timestamps (singular, upper case).
    `statistics` are those of WITH STATS. A relation has no time: its `start` is empty.

    `query` names the query that produces the stream: then `start` and `end` are `match_start` and `match_end`
    of a PATTERN, `ts` and `te` of a SELECT, and not among `columns`. Where `half_open`, as of a SELECT, `end`
    is the first instant at which an event is no longer valid (NULL: it has no end), else the last at which
    it is. `only_points` is that of the query: see `has_only_points`.

    `rows_of` names the query whose result is read like a table, with all its columns: by MATCH_RECOGNIZE, or
    by others where the query declares its times.

    `watermark` is how long the stream waits for events that come late, in microseconds, if that is declared.
    Where the data are streaming, `is_streaming`; where their DataFrame has this watermark already,
    `watermarked`.

    With `timestamp_format`, the data hold `start` and `end` as texts of this pattern; for queries they are
    TIMESTAMPs.

    `derived` says how the last of the `columns` are computed, in their order.

    `then_by` are the columns that order events of the same time.
    """

    name: str
    columns: tuple[Column, ...]
    start: str
    end: str | None = None
    latest: str | None = None
    unit: str = "MILLISECOND"
    type_column: str | None = None
    path: str | None = None
    format: str | None = None
    options: tuple[Property, ...] = ()
    query: str | None = None
    statistics: tuple[Statistic, ...] = ()
    half_open: bool = False
    timestamp_format: str | None = None
    only_points: bool = False
    rows_of: str | None = None
    watermark: int | None = None
    is_streaming: bool = False
    watermarked: bool = False
    derived: tuple[DerivedColumn, ...] = ()
    weights: str | None = None
    shape: str | None = None
    shape_column: str | None = None
    then_by: tuple[str, ...] = ()

    @property
    def has_shape(self) -> bool:
        """Whether the times of an event may not be equally likely."""
        return bool(self.weights or self.shape or self.shape_column)

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """The columns that the data have."""
        return tuple(column for column in self.columns if column.of is None)

    @property
    def tables(self) -> tuple[Stream, ...]:
        """All that is read for its rows: itself, and the relations that values are looked up in."""
        return (self, *(one.relation for one in self.derived if isinstance(one, LOOKED_UP)))

    @property
    def producer(self) -> str | None:
        """The query that it comes from; None for data from outside."""
        return self.query or self.rows_of

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that `timestamp_format` says how to read."""
        return () if self.timestamp_format is None else tuple(filter(None, (self.start, self.end)))

    @property
    def is_relation(self) -> bool:
        return not self.start


def order_types(stream: Stream) -> tuple[DataType, ...]:
    """The types by which the THEN BY columns of a stream are compared with those of others: whole numbers of
    all sizes go together."""
    kinds = {column.name: column.type for column in stream.columns}
    return tuple(BIGINT if kinds[name] in WHOLE_NUMBERS else kinds[name] for name in stream.then_by)


@dataclass(frozen=True)
class DerivedColumn(Node):
    """A column of a stream that its data do not have. `name` is that of the column."""

    name: str


@dataclass(frozen=True)
class LevelColumn(DerivedColumn):
    """What the relation of a hierarchy has as `level` beside the value of `attribute` as `of`: NULL where it
    has none, or where the stream has no such attribute. All names are bare."""

    attribute: str
    hierarchy: str
    relation: Stream
    of: str
    level: str

    def complaint(self, value: str) -> str:
        """What is wrong with a relation in which a value of `of` has several values of `level`."""
        several = f"{self.of} `{value}` has several values of `{self.level}`"
        return f"hierarchy {self.hierarchy}: {several} in {self.relation.name}"


@dataclass(frozen=True)
class MemberColumn(DerivedColumn):
    """Whether the value of `attribute` is one of those that a relation has as `of`, as SQL's IN says: of a
    relation without rows it is FALSE; else NULL if the value is NULL, or if it is not there and a NULL is.
    All names are bare; a stream without such an attribute has NULL."""

    attribute: str
    relation: Stream
    of: str


@dataclass(frozen=True)
class MembersColumn(DerivedColumn):
    """Whether the values of `attributes`, together, are those that a row of a relation has as `of`, as SQL's
    IN says: FALSE if with each row one comparison is FALSE; else NULL if no row has them. All names are bare;
    an attribute that a stream does not have is "", and NULL."""

    attributes: tuple[str, ...]
    relation: Stream
    of: tuple[str, ...]


LOOKED_UP = (LevelColumn, MemberColumn, MembersColumn)
"""Derived columns for which a relation is read."""


@dataclass(frozen=True)
class ConceptMember(Node):
    """A type directly below a concept, in source form, and what it stands for in one stream."""

    name: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class ConceptColumn(DerivedColumn):
    """The type of an event: the value of the type column, or else the stream's name. Where there are `below`,
    the members of a concept: the first of them that the event is of, NULL if it is of none."""

    below: tuple[ConceptMember, ...] | None = None


@dataclass(frozen=True)
class CompleteColumn(DerivedColumn):
    """Whether the data go on for as long as a window after an event starts: `ts` + `within` is not after the
    last time of all events that are `read`, or not after `until`, if that is given."""

    within: Window
    read: tuple[Stream, ...]
    until: Expr | None = None


def with_all_derived(streams: Iterable[Stream]) -> dict[str, Stream]:
    """The streams of several queries, by name, with the derived columns of all: a stream is read once."""
    found: dict[str, Stream] = {}
    for stream in streams:
        known = found.get(stream.name, stream)
        derived = {one.name: one for one in (*known.derived, *stream.derived)}
        columns = {column.name: column for column in (*known.columns, *stream.columns)}
        own = [column for name, column in columns.items() if name not in derived]
        last = [columns[name] for name in derived]
        found[stream.name] = replace(known, columns=(*own, *last), derived=tuple(derived.values()))
    return found


@dataclass(frozen=True)
class Member(Node):
    """Events of `stream` whose type column is `value` (in source form: exact when quoted, else
    whatever its case); `value=None` means every event of the stream."""

    stream: str
    value: str | None = None


@dataclass(frozen=True)
class EventType(Node):
    """A type used in a pattern: the union of its members. `name` is in source form, as in `Event.type`."""

    name: str
    members: tuple[Member, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class OutputColumn(Node):
    """A column of the result; its place is that of its name, if it has been given one."""

    name: str
    expression: Expr
    type: DataType

    @property
    def is_aggregate(self) -> bool:
        return any(isinstance(node, Aggregate) for node in walk(self.expression))


@dataclass(frozen=True)
class PrefixLevel:
    """A branch that is a prefix of a SEQ: `start` is the variable of its first event. `hints` are the first
    variables of the branches that tell why the next prefix was not reached; the first of them that has a
    match tells it."""

    start: str
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class FurthestPrefix:
    """WITH PARTIAL MATCHES: the pattern is an OR of the prefixes of a SEQ, and of each start the match of the
    last of the `levels` counts; `written` is the query without that. No node: it is not walked over."""

    levels: tuple[PrefixLevel, ...]
    written: Match


ROW = ""
"""The variable of a row of the result, in ORDER BY: its attributes are the columns."""


@dataclass(frozen=True)
class ResultOrder:
    """ORDER BY and LIMIT: the rows of the result by these items, the first `limit` of them if it is given.
    Then the items leave no choice: rows that they do not tell apart are equal, but for columns without an
    order. No node: it is about rows, and rules are about matches."""

    items: tuple[SortItem, ...]
    limit: int | None = None

    @property
    def written(self) -> tuple[SortItem, ...]:
        """The items as a query has them: columns by their names."""

        def named(node: Node) -> Node | None:
            if isinstance(node, Attribute) and node.event == Variable(ROW):
                return Name((node.name,))
            return None

        found = (transform(item, named) for item in self.items)
        return tuple(item for item in found if isinstance(item, SortItem))


MATCH_NUMBER = "match_number"
"""The number of a match, from 1 on: in the order of (start, end, then what else is returned)."""


@dataclass(frozen=True)
class Match(Node):
    """A bound pattern query.

    `clock` is how `match_start` and `match_end` are written. `partition` are attributes: the partition that
    EVENT windows count in and PARTITION CONTIGUITY looks at. `aggregated` results are grouped by the outputs
    that hold no `Aggregate` over matches. With `partial`, one match is chosen for each start. `kept` says
    which matches count, before rows are made of them. `complete`: the scopes of all negations end before the
    data do, which end with `complete_until`, if it is given. `order` is that of the rows. `written` is the
    text of the pattern where words of the query have become negations.
    """

    pattern: Pattern
    streams: tuple[Stream, ...]
    types: tuple[EventType, ...]
    outputs: tuple[OutputColumn, ...]
    clock: Clock
    within: Window | None = None
    partition: tuple[str, ...] = ()
    strategy: SelectionStrategy = SelectionStrategy.ANY_MATCH
    confidence: Confidence | None = None
    distinct: bool = False
    collapsed: bool = False
    aggregated: bool = False
    partial: FurthestPrefix | None = None
    kept: KeptMatches | None = None
    complete: bool = False
    complete_until: Expr | None = None
    order: ResultOrder | None = None
    written: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result."""
        return tuple(Column(output.name, output.type) for output in self.outputs)

    @property
    def numbered(self) -> tuple[OutputColumn, ...] | None:
        """If matches are numbered: the columns that tell those apart which start and end together."""
        if not any(map(_has_number, self.outputs)):
            return None
        others = (output for output in self.outputs if not _has_number(output))
        return tuple(output for output in others if is_orderable(output.type))

    @property
    def is_imprecise(self) -> bool:
        """Whether a stream of the query has imprecise times."""
        return any(stream.latest is not None for stream in self.streams)

    @property
    def order_types(self) -> tuple[DataType, ...]:
        """The types of the columns that order events of the same time: THEN BY. All streams have the same
        number of them, and of types that go together."""
        columns = zip(*(order_types(stream) for stream in self.streams), strict=True)
        return tuple(next((kind for kind in kinds if kind != VOID), BIGINT) for kinds in columns)

    @property
    def title(self) -> str:
        """What is looked for, in a line."""
        pattern = self.whole.written or self.whole.pattern
        return f"{pattern}{' WITH PARTIAL MATCHES' if self.partial else ''}"

    @property
    def whole(self) -> Match:
        """The query without WITH PARTIAL MATCHES: what a complete match is."""
        return self if self.partial is None else self.partial.written


def _has_number(output: OutputColumn) -> bool:
    return any(isinstance(node, MatchProperty) and node.name == MATCH_NUMBER for node in walk(output))


@dataclass(frozen=True)
class NamedQuery(Node):
    """A query of a script; `name` is bare, None when it has none."""

    name: str | None
    query: Match | Algebra | HostQuery

    @property
    def match(self) -> Match:
        """The query, where it can only be a PATTERN."""
        assert isinstance(self.query, Match), "a PATTERN query"
        return self.query

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the rows is the query's own: ORDER BY, or LIMIT, which needs one."""
        if isinstance(self.query, Match):
            return self.query.order is not None
        return self.query.is_ordered


@dataclass(frozen=True)
class Program(Node):
    """A bound script: its queries in order, each over declared streams or earlier queries. `present` is where
    it asks for the time of the run, which nobody has given."""

    streams: tuple[Stream, ...]
    queries: tuple[NamedQuery, ...]
    present: Span | None = field(default=None, compare=False, repr=False)

    def needed(self, places: Iterable[int]) -> list[int]:
        """The places of these queries and of those that they read, in order."""
        required, names = set(places), set[str | None]()
        for place in range(len(self.queries) - 1, -1, -1):
            named = self.queries[place]
            if place in required or (named.name is not None and named.name in names):
                required.add(place)
                names |= {stream.producer for stream in named.query.streams}
        return sorted(required)

    def with_streams(self, change: Callable[[Stream], Stream]) -> Program:
        """The same with other streams, wherever they stand. Each keeps the columns that its query derives."""

        def changed(node: Node) -> Node | None:
            match node:
                case Stream():
                    return replace(change(node), columns=node.columns, derived=node.derived)
                case Match(partial=FurthestPrefix() as partial):
                    written = transform(partial.written, changed)
                    assert isinstance(written, Match)
                    return replace(node, partial=replace(partial, written=written))
            return None

        found = transform(self, changed)
        assert isinstance(found, Program)
        return found

    @property
    def pattern_queries(self) -> tuple[NamedQuery, ...]:
        """The PATTERN queries, in order."""
        return tuple(named for named in self.queries if isinstance(named.query, Match))


def streams_read(program: Program, places: Iterable[int]) -> dict[str, Stream]:
    """The streams that these queries read, and those of the queries that they read, by name."""
    queries = (program.queries[place].query for place in program.needed(places))
    read = (table for query in queries for stream in query.streams for table in stream.tables)
    return {stream.name: stream for stream in read if stream.producer is None}
