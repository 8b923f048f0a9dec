"""MATCH_RECOGNIZE after binding: every name resolved, every default said; and the query of Spark's around it.

The names of variables are those that CLASSIFIER() shows: upper case, or as they are between backticks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from neelc.ir.allen import Word
from neelc.ir.expressions import Aggregate, AtRow, Attribute, Expr
from neelc.ir.names import bare
from neelc.ir.node import Node, walk
from neelc.ir.patterns import Window
from neelc.ir.program import Column, OutputColumn, Stream
from neelc.ir.row_patterns import Following, RowPattern, Skip, SortItem
from neelc.ir.script import HostClause
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span

SHOW, OMIT, UNMATCHED = "SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS"


@dataclass(frozen=True)
class RowDefinition(Node):
    """The condition of a variable; a variable without one matches every row."""

    variable: str
    condition: Expr


@dataclass(frozen=True)
class RowSkip(Node):
    """Where the next match may start: at the row after the match (PAST LAST ROW), at its second row (TO NEXT
    ROW), or at the FIRST or LAST row that is mapped to one of `variables`."""

    kind: str = "PAST LAST ROW"
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recognize(Node):
    """A bound clause over rows with `columns`.

    `partition` are names of columns, or of `computed` ones: expressions over a row. So are those of `order`.
    `nested` are columns that queries inside the clause give each row: they are none of the input, nor of the
    result. `all_rows` is None for ONE ROW PER MATCH, else one of SHOW, OMIT and UNMATCHED. `within` is the
    most that the first of `order`, a time, may be greater in the last row of a match than in its first;
    `unit` is that of integers there.
    """

    columns: tuple[Column, ...]
    pattern: RowPattern
    definitions: tuple[RowDefinition, ...]
    partition: tuple[str, ...]
    order: tuple[SortItem, ...]
    measures: tuple[OutputColumn, ...]
    all_rows: str | None = None
    skip: RowSkip = RowSkip()
    within: Window | None = None
    unit: str = "MILLISECOND"
    computed: tuple[OutputColumn, ...] = ()
    nested: tuple[OutputColumn, ...] = ()

    @property
    def output(self) -> tuple[Column, ...]:
        """The columns of the result, in the order of the standard: the partition's, for ALL ROWS those of the
        order, the measures, and for ALL ROWS the rest of the input."""
        first, rest = self.own_columns
        return (*first, *(Column(measure.name, measure.type) for measure in self.measures), *rest)

    @property
    def own_columns(self) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
        """The input's columns before and after the measures."""
        known = {column.name: column for column in self.columns}
        first = dict.fromkeys((*self.partition, *(self.ordering_columns if self.all_rows else ())))
        rest = [name for name in known if name not in first] if self.all_rows else []
        known |= {one.name: Column(one.name, one.type) for one in self.computed}
        return tuple(known[name] for name in first), tuple(known[name] for name in rest)

    @property
    def ordering_columns(self) -> tuple[str, ...]:
        """The columns that stand alone in ORDER BY."""
        found = (item.expression for item in self.order)
        return tuple(bare(one.name) for one in found if isinstance(one, Attribute))


# A query of Spark's own SQL around clauses: Spark reads its text, and we know what the clauses in it mean.


@dataclass(frozen=True)
class BoundClause(Node):
    """A clause of a query of Spark's, bound. `reads` is the bare name of the stream or query it reads, None
    if it reads what else stands before it."""

    clause: HostClause
    recognize: Recognize
    reads: str | None = None


@dataclass(frozen=True)
class SimpleQuery:
    """A query of Spark's that is understood without Spark: `SELECT outputs FROM reads MATCH_RECOGNIZE (...)
    WHERE where`. `reads` is a stream, an earlier query, or another query of this kind; `name` is that of the
    rows, after `recognize`, that `where` and `outputs` speak of. `nested` are the columns that queries inside
    of `recognize` give its rows."""

    reads: str | SimpleQuery
    recognize: Recognize | None
    name: str
    where: Expr | None
    outputs: tuple[OutputColumn, ...]
    distinct: bool = False
    nested: tuple[tuple[OutputColumn, SimpleQuery], ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(output.name, output.type) for output in self.outputs)

    @property
    def recognizing(self) -> SimpleQuery | None:
        """This query or the one inside it whose MATCH_RECOGNIZE is outermost."""
        if self.recognize is not None or isinstance(self.reads, str):
            return None if self.recognize is None else self
        return self.reads.recognizing

    @property
    def tables(self) -> frozenset[str]:
        """The streams and earlier queries that it reads, itself or inside of it."""
        inner = (self.reads, *(query for _, query in self.nested))
        return frozenset().union(*({one} if isinstance(one, str) else one.tables for one in inner))

    @property
    def is_aggregate(self) -> bool:
        """Whether the result is one row, of aggregates over all rows."""
        return any(isinstance(node, Aggregate) for one in self.outputs for node in walk(one.expression))


@dataclass(frozen=True)
class HostQuery(Node):
    """A query of Spark's own SQL, which stands at `place` in `text`, the whole script. `streams` are the
    streams and earlier queries that it may read by name; other names are tables of Spark's. `columns` is None
    where only Spark knows them. `arguments` are the values of its parameters. `simple` is what the reference
    interpreter executes, None as long as that is not needed."""

    text: str
    place: Span
    clauses: tuple[BoundClause, ...]
    streams: tuple[Stream, ...]
    columns: tuple[Column, ...] | None = None
    arguments: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    is_ordered: bool = False
    simple: SimpleQuery | None = field(default=None, compare=False, repr=False)

    @property
    def title(self) -> str:
        """The query as it is written."""
        return self.text[self.place.start : self.place.end]


# MATCH_RECOGNIZE_SEQUENTIAL after binding: JEPC's pattern matcher, with every name resolved.
#
# The names of symbols are upper case, or as they are between backticks. Expressions speak of the events of
# a match with `AtRow`: without `variables` the event taken last, which in a condition is the one that is
# judged; with `variables` the last event that emitted one of these symbols; `place` events of that kind
# before it. A negative `shift` is PREV: so many instants of the partition before the event that is judged.


@dataclass(frozen=True)
class Sequential(Node):
    """A bound clause over events with `columns`.

    `pattern` has no repetition at its beginning or end that could be left out: `without_open_ends`.
    A symbol without a definition is emitted by every event. `partition` are names of columns. `within` is the
    most that the last event of a match may start after the first, or the number of events of a match, those
    between its symbols included. A match is valid for the chronon in which its last event starts (JEPC
    thesis, 6.3.3.4). What a pattern reads at an event is a symbol, a negated one, or a conjunction of some;
    with `following.eventually`, a negated symbol that stands alone reads no event. With `skip`, some matches
    are kept: of those with the same start the first, and past the last event only those that start after it.
    """

    columns: tuple[Column, ...]
    pattern: RowPattern
    definitions: tuple[RowDefinition, ...]
    partition: tuple[str, ...]
    measures: tuple[OutputColumn, ...]
    within: Window | None = None
    following: Following = Following()
    skip: Skip | None = None

    @property
    def looks_back(self) -> bool:
        """Whether conditions name events before the one that is judged: PREV."""
        nodes = (node for one in self.definitions for node in walk(one.condition))
        return any(isinstance(node, AtRow) and node.shift for node in nodes)

    @property
    def output(self) -> tuple[Column, ...]:
        """The columns of a match: its measures. The times come besides."""
        return tuple(Column(measure.name, measure.type) for measure in self.measures)


# MATCH_RECOGNIZE_TEMPORAL after binding: TPStream's temporal patterns.
#
# The names of symbols are upper case, or as they are between backticks. In a condition, `AtRow` without
# `variables` is the event that is judged, and a negative `shift` is PREV. With `variables` it is an event of
# another symbol: the FIRST of its run, or the LAST. In measures there are only these, and `OverRows`, over
# all events of a run.


@dataclass(frozen=True)
class SymbolDefinition(Node):
    """What the events of a symbol are: of one that `lasts`, the longest runs of consecutive instants of its
    stream, in the partition, at which all events meet the condition; else single events. Without a condition,
    every event meets it. It lasts at least `least` and at most `most`, whole numbers of instants. `stream` is
    the number of the stream that it is about, where there are several.

    A condition is not TRUE of an event at which one of the events that it names is not known yet: before the
    first event of a run that lasts, if that is named; up to the last one, if that is; up to a single event.
    """

    name: str
    condition: Expr | None
    lasts: bool
    least: Window | None = None
    most: Window | None = None
    stream: int | None = None

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The symbols whose events the condition names."""
        nodes = () if self.condition is None else tuple(walk(self.condition))
        return tuple(dict.fromkeys(name for one in nodes if isinstance(one, AtRow) for name in one.variables))


@dataclass(frozen=True)
class SymbolRelation(Node):
    """One of the words holds between the events of two symbols, of which `left` is A and `right` is B."""

    left: str
    right: str
    words: tuple[Word, ...]


@dataclass(frozen=True)
class SymbolAlternative(Node):
    """One of the alternatives of a temporal pattern: there are events of all `symbols`, in these `relations`,
    and for none of the symbols that are `absent` one that has its relations to them."""

    symbols: tuple[str, ...]
    absent: tuple[str, ...]
    relations: tuple[SymbolRelation, ...]

    def relations_of(self, symbol: str) -> tuple[SymbolRelation, ...]:
        return tuple(one for one in self.relations if symbol in (one.left, one.right))


@dataclass(frozen=True)
class Temporal(Node):
    """A bound clause over events with `columns`.

    One of the `alternatives` holds. `partition` are names of columns. `within` is the most that the instant
    at which a match is decided may be after the start of its first symbol. `number` is the column with the
    number of the stream that an event is of, if there are several. `text` is the pattern as it is written.
    """

    columns: tuple[Column, ...]
    alternatives: tuple[SymbolAlternative, ...]
    symbols: tuple[SymbolDefinition, ...]
    partition: tuple[str, ...]
    measures: tuple[OutputColumn, ...]
    within: Window | None = None
    number: str | None = None
    text: str = field(default="", compare=False)

    @property
    def output(self) -> tuple[Column, ...]:
        """The columns of a match: its measures. The times come besides."""
        return tuple(Column(measure.name, measure.type) for measure in self.measures)

    @property
    def named_events(self) -> frozenset[tuple[str, str]]:
        """The events whose values are read: symbols, each with FIRST or LAST. Where several events are at
        that instant, each of them is another match."""
        conditions = [one.condition for one in self.symbols if one.condition is not None]
        nodes = [node for one in (*conditions, *self.measures) for node in walk(one)]
        values = (node for node in nodes if isinstance(node, AtRow))
        return frozenset((name, value.anchor) for value in values for name in value.variables)
