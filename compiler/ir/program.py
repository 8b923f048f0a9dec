"""The logical plan: a script after binding. Every name is resolved, every condition in its place.

A bound pattern is made of the same nodes as a parsed one, with these promises (`ir/check.py` tests them):
- every `Event` that is not the body of a `Repeat` has a variable, and so has every `Repeat`; all differ;
- references are `Attribute` and its kin, implicit casts are explicit, parameters are literals;
- each conjunct stands in the `where` of the innermost part it belongs to; `[id]` is a `Same` there;
- `within.count` is a literal; `within.unit` is a unit of time or EVENT, never None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from neelc.ir.expressions import Aggregate, Expr
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import Pattern, Window
from neelc.ir.script import Confidence, Property, SelectionStrategy, Statistic
from neelc.ir.types import DataType

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


@dataclass(frozen=True)
class Stream(Node):
    """A table of events and what its columns mean. All names are bare.

    `start` holds `ts`; `end`, if any, holds `te`; with `latest`, the time is imprecise, uniform over
    start..latest. `unit` is the unit of integer timestamps (singular, upper case). `statistics` are those of
    WITH STATS. A relation has no time: its `start` is empty.

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

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """The columns that the data have."""
        return tuple(column for column in self.columns if column.of is None)

    @property
    def tables(self) -> tuple[Stream, ...]:
        """All that is read for its rows: itself, and the relations that levels are looked up in."""
        return (self, *(one.relation for one in self.derived if isinstance(one, LevelColumn)))

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
class ConceptMember(Node):
    """A type directly below a concept, in source form, and what it stands for in one stream."""

    name: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class ConceptColumn(DerivedColumn):
    """The type of an event: the value of the type column, or else the stream's name. Where there are `below`,
    the members of a concept: the first of them that the event is of, NULL if it is of none."""

    below: tuple[ConceptMember, ...] | None = None


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


@dataclass(frozen=True)
class Match(Node):
    """A bound pattern query.

    `clock` is how `match_start` and `match_end` are written. `partition` are attributes: the partition that
    EVENT windows count in and PARTITION CONTIGUITY looks at. `aggregated` results are grouped by the outputs
    that hold no `Aggregate` over matches. With `partial`, one match is chosen for each start.
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

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result."""
        return tuple(Column(output.name, output.type) for output in self.outputs)

    @property
    def is_imprecise(self) -> bool:
        """Whether a stream of the query has imprecise times."""
        return any(stream.latest is not None for stream in self.streams)

    @property
    def title(self) -> str:
        """What is looked for, in a line."""
        return f"{self.whole.pattern}{' WITH PARTIAL MATCHES' if self.partial else ''}"

    @property
    def whole(self) -> Match:
        """The query without WITH PARTIAL MATCHES: what a complete match is."""
        return self if self.partial is None else self.partial.written


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


@dataclass(frozen=True)
class Program(Node):
    """A bound script: its queries in order, each over declared streams or earlier queries."""

    streams: tuple[Stream, ...]
    queries: tuple[NamedQuery, ...]

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
