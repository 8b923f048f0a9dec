"""Statements: what a script is made of."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from enum import StrEnum

from neelc.errors import Diagnostic
from neelc.ir.expressions import Expr, SharedLevel
from neelc.ir.node import Node
from neelc.ir.patterns import Pattern, Window
from neelc.ir.row_patterns import MatchRecognize, MatchSequential, MatchTemporal, Output, SortItem
from neelc.ir.types import DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span

# What is said about the events of a stream: `WITH STATS (...)`, a file of statistics, Parquet footers.

MEASURES = (
    "EVENTS",
    "RATE",
    "SPAN",
    "SHARE",
    "DISTINCT",
    "NULLS",
    "MOST FREQUENT",
    "RANGE",
    "SELECTIVITY",
)
"""Number of events; events per unit of time; time from the first event to the last; share of a type among
the events of its stream; distinct values of a column; share of NULLs in it; share of the value it holds most
often; its least and its greatest value; share of the events, or of the choices of events, that meet a
condition."""


@dataclass(frozen=True)
class Statistic(Node):
    """`[TYPE type] MEASURE [column | (condition)] numbers [unit]`: one number about a stream, or about the
    events of one type in it.

    `numbers` are one, or two for RANGE. `unit` belongs to RATE and SPAN: singular and upper case. `type` and
    `column` are in source form. The binder makes `column` bare and `condition` a text: it speaks of any
    query, and what is done to the conditions of one must not be done to it.
    """

    measure: str
    numbers: tuple[Decimal, ...]
    type: str | None = None
    column: str | None = None
    condition: Expr | str | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Statement(Node):
    """One statement of a script."""


@dataclass(frozen=True)
class Script(Node):
    """Statements in order; each may use what those before it declare."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class ColumnDefinition(Node):
    """`name type` in CREATE STREAM."""

    name: str
    type: DataType


@dataclass(frozen=True)
class Property(Node):
    """`key 'value'` in OPTIONS."""

    key: str
    value: str


@dataclass(frozen=True)
class Timestamp(Node):
    """`TIMESTAMP BY start [FORMAT 'pattern'] [THEN BY columns] [UNIT unit]`, or `TIMESTAMP BETWEEN start AND
    latest` for imprecise times, with `WEIGHT weight` or `DISTRIBUTION distribution`, if any.

    `unit` is singular and upper case; `format` is how a text is written that stands for a time; `then_by` are
    the columns that order events of the same time.
    """

    start: str
    latest: str | None = None
    unit: str | None = None
    format: str | None = None
    then_by: tuple[str, ...] = ()
    weight: str | None = None
    distribution: str | None = None
    unit_keyword: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class CreateStream(Statement):
    """`CREATE STREAM name (columns) TIMESTAMP BY ... END BY ... TYPE BY ... WATERMARK ... FROM 'path' ...`.

    `watermark` is how long the stream waits for events that come late. `CREATE RELATION` is the same without
    times and types: rows that are valid forever.
    """

    name: str
    columns: tuple[ColumnDefinition, ...] = ()
    timestamp: Timestamp | None = None
    end: str | None = None
    type_by: str | None = None
    path: str | None = None
    format: str | None = None
    options: tuple[Property, ...] = ()
    statistics: tuple[Statistic, ...] = ()
    is_relation: bool = False
    watermark: Window | None = None
    path_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class CreateType(Statement):
    """`CREATE TYPE name AS (members)`: a concept, the union of its members."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class CreateHierarchy(Statement):
    """`CREATE HIERARCHY name (levels) FROM relation`: the levels are columns of the relation, from the finest
    to the coarsest."""

    name: str
    levels: tuple[str, ...]
    relation: str


@dataclass(frozen=True)
class CreateFunction(Statement):
    """`CREATE FUNCTION name(takes) RETURNS returns`: a function that the engine has, or that is given in
    Python."""

    name: str
    takes: tuple[DataType, ...]
    returns: DataType


@dataclass(frozen=True)
class ScriptQuery(Node):
    """A pattern query or a SELECT."""


@dataclass(frozen=True)
class RowTimes(Node):
    """`TIMESTAMP BY start END BY end TYPE BY column`, of a query whose rows are events: the clauses of CREATE
    STREAM that say what columns mean."""

    timestamp: Timestamp | None = None
    end: str | None = None
    type_by: str | None = None


@dataclass(frozen=True)
class CreateQuery(Statement):
    """`CREATE QUERY name [times] AS query`, also written `PATTERN ... AS name` and `( SELECT ... ) AS name`.
    Only a query around MATCH_RECOGNIZE declares `times`: the others have them."""

    name: str
    query: ScriptQuery
    times: RowTimes | None = None


@dataclass(frozen=True)
class RunQuery(Statement):
    """A query without a name."""

    query: ScriptQuery


@dataclass(frozen=True)
class UnreadStatement(Statement):
    """A statement that could not be read, and why.

    `declares` is the name it would have declared, "" for a query without a name, None if that is unclear:
    then the statements after it cannot be judged. `typed` if it may declare a stream with a type column.
    """

    problems: tuple[Diagnostic, ...]
    declares: str | None = None
    typed: bool = False


class SelectionStrategy(StrEnum):
    """Which events a run takes, of those that qualify: `USING ...`."""

    ANY_MATCH = "SKIP TILL ANY MATCH"
    NEXT_MATCH = "SKIP TILL NEXT MATCH"
    STRICT = "STRICT CONTIGUITY"
    PARTITION = "PARTITION CONTIGUITY"

    @property
    def is_contiguous(self) -> bool:
        """Whether events of a match are neighbours."""
        return self in (SelectionStrategy.STRICT, SelectionStrategy.PARTITION)


@dataclass(frozen=True)
class Confidence(Node):
    """`WITH CONFIDENCE op threshold`; `op` is `>=` or `>`."""

    op: str
    threshold: Expr


@dataclass(frozen=True)
class Return(Node):
    """`RETURN [DISTINCT | COLLAPSED] items`; COLLAPSED may stand without items."""

    items: tuple[Output, ...]
    distinct: bool = False
    collapsed: bool = False
    collapsed_keyword: Span | None = field(default=None, compare=False, repr=False)


class SkipPlace(StrEnum):
    """From where on the next match may start: `AFTER MATCH SKIP ...`."""

    PAST_LAST = "PAST LAST EVENT"
    NEXT = "TO NEXT EVENT"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True)
class MatchSkip(Node):
    """`AFTER MATCH SKIP place [variable]`: FIRST and LAST are events of a variable; the others have none."""

    place: SkipPlace
    variable: str | None = None


@dataclass(frozen=True)
class KeptMatches(Node):
    """Which matches are kept: `ONE MATCH PER variables`, `AFTER MATCH SKIP ...`, `SUPPRESS window`. Each is
    applied to what the one before it leaves, in this order.

    Bound, `partition` are the attributes whose values keep matches apart, none: all are looked at together;
    and `order` are the variables of a match in the order in which they are declared.
    """

    one_per: tuple[str, ...] = ()
    skip: MatchSkip | None = None
    suppress: Window | None = None
    partition: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class PatternQuery(ScriptQuery):
    """`PATTERN pattern [FROM ...] [WHERE ...] ...`; `strategy` is None when not said.

    `partial` is WITH PARTIAL MATCHES: how far each start came. `among` are the types of `STRICT CONTIGUITY
    AMONG (...)`. `kept` says which matches count, all if None. `complete` is WHEN COMPLETE: no match rests on
    an absence that the data end before; they end with `complete_until`, if it is given. `order_by` and
    `limit` are about the rows of the result.
    """

    pattern: Pattern
    streams: tuple[str, ...] = ()
    where: Expr | None = None
    partition_by: tuple[str | SharedLevel, ...] = ()
    within: Window | None = None
    strategy: SelectionStrategy | None = None
    confidence: Confidence | None = None
    returns: Return | None = None
    partial: bool = False
    among: tuple[str, ...] = ()
    kept: KeptMatches | None = None
    complete: bool = False
    order_by: tuple[SortItem, ...] = ()
    limit: int | None = None
    complete_until: Expr | None = None
    strategy_keyword: Span | None = field(default=None, compare=False, repr=False)
    partial_keyword: Span | None = field(default=None, compare=False, repr=False)
    complete_clause: Span | None = field(default=None, compare=False, repr=False)
    limit_clause: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class RollStep(Node):
    """`DELL TO Computer`: a type in place of another; `street TO Place.city`, with a hierarchy: a level in
    place of an attribute, or of another level."""

    source: str
    target: str
    hierarchy: str | None = None


@dataclass(frozen=True)
class RolledQuery(ScriptQuery):
    """`ROLL UP name (steps)`, or `DRILL DOWN name (steps)`: a PATTERN that is declared before, with coarser,
    or finer, types and attributes."""

    name: str
    steps: tuple[RollStep, ...]
    is_up: bool = True


@dataclass(frozen=True)
class StreamWindow(Node):
    """`WINDOW(TIME 10 MINUTES JUMP 1 MINUTE)`, `WINDOW(COUNT 5 EVENTS JUMP 1 EVENT PARTITION BY a)`.

    Both sizes are `Window`s: in EVENTs for COUNT, in a unit of time (or None) for TIME.
    """

    size: Window
    jump: Window | None = None
    partition_by: tuple[str, ...] = ()


Matcher = MatchRecognize | MatchSequential | MatchTemporal


@dataclass(frozen=True)
class FromItem(Node):
    """One element of a FROM, with its window and its row pattern."""

    alias: str | None = None
    window: StreamWindow | None = None
    matcher: Matcher | None = None
    matcher_alias: str | None = None


@dataclass(frozen=True)
class FromStream(FromItem):
    """A stream or a named query."""

    name: str = ""


@dataclass(frozen=True)
class FromQuery(FromItem):
    """`( SELECT ... ) AS alias`."""

    query: ScriptQuery | None = None


@dataclass(frozen=True)
class FromAgent(FromItem):
    """`agent(stream, ...)`: what a user's function makes of streams."""

    name: str = ""
    inputs: tuple[FromItem, ...] = ()


@dataclass(frozen=True)
class MatchmakerAttribute(Node):
    """`name:TYPE {(property, value), ...}` in MATCH(...): an attribute of JEPC's matchmaker."""

    name: str
    type: DataType
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True)
class FromMatchmaker(FromItem):
    """`MATCH(attribute, ...)`: any stream that offers these attributes (JEPC's matchmaker)."""

    attributes: tuple[MatchmakerAttribute, ...] = ()


@dataclass(frozen=True)
class Select(ScriptQuery):
    """JEPC-QL's SELECT: filter, aggregator, correlator, pattern matcher."""

    items: tuple[Output, ...]
    sources: tuple[FromItem, ...]
    distinct: bool = False
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    order_by: tuple[SortItem, ...] = ()
    limit: int | None = None
    limit_keyword: Span | None = field(default=None, compare=False, repr=False)


class SetOperator(StrEnum):
    """What a query makes of the snapshots of two others."""

    UNION_ALL = "UNION ALL"
    UNION = "UNION"
    EXCEPT = "EXCEPT"


@dataclass(frozen=True)
class CombinedSelect(ScriptQuery):
    """`SELECT ... UNION ALL SELECT ...`: both sides are SELECTs, or combined of them."""

    left: ScriptQuery
    operator: SetOperator
    right: ScriptQuery
    operator_keyword: Span | None = field(default=None, compare=False, repr=False)


# Spark's own SQL around MATCH_RECOGNIZE: where its clauses stand in the script, what they read, and which
# names they see.


@dataclass(frozen=True)
class WithDefinition:
    """`name AS (...)` after WITH; `name` is bare."""

    name: str
    span: Span


@dataclass(frozen=True)
class WithClause:
    """The definitions of one WITH that a clause sees."""

    definitions: tuple[WithDefinition, ...]
    recursive: bool = False


@dataclass(frozen=True)
class HostClause:
    """A clause: `span` is from MATCH_RECOGNIZE to its parenthesis, `source` the relation before it, None if
    there is none. `table` are the parts of its name, if it is a name, and `alias` the name it has for the
    clause. `result` is the name that follows the clause, if one does. `is_inside`: it stands in a query
    inside another."""

    span: Span
    source: Span | None
    table: tuple[str, ...] = ()
    alias: str | None = None
    result: str | None = None
    visible: tuple[WithClause, ...] = ()
    is_inside: bool = False

    @property
    def name(self) -> str | None:
        """What the rows of the source, and of the result, may be called."""
        return self.alias or (self.table[-1] if self.table else None)

    @property
    def whole(self) -> Span:
        return self.span if self.source is None else self.source | self.span

    @property
    def defined(self) -> tuple[str, ...]:
        return tuple(one.name for group in self.visible for one in group.definitions)

    def holds(self, other: HostClause) -> bool:
        """Whether the other clause stands in what this one reads, or in a definition that it sees."""
        parts = [one.span for group in self.visible for one in group.definitions]
        parts += [] if self.source is None else [self.source]
        return any(part.start <= other.span.start and other.span.end <= part.end for part in parts)


@dataclass(frozen=True)
class HostSelect(ScriptQuery):
    """A query of Spark's own SQL around MATCH_RECOGNIZE, or over such a query: its text as it is written.
    Places in `clauses` are those in the script."""

    text: str
    clauses: tuple[HostClause, ...] = field(default=(), compare=False, repr=False)
