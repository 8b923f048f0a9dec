"""`neelc.timeline`: events and matches as a picture, to look at in a browser or in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from neelc.api.errors import translated
from neelc.api.query import run_source
from neelc.api.schemas import clock_of, values_of
from neelc.api.spark_session import counting
from neelc.api.streaming import refuse_streaming
from neelc.api.streams import Frame, StreamData, is_frame, is_local, is_path, no_frame, streams_read
from neelc.api.streams import stream as stream_data
from neelc.api.why import selected, time_literal
from neelc.arguments import Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.reference import failed
from neelc.errors import Diagnostic, NeelError
from neelc.explain.html import framed
from neelc.explain.report import written_queries
from neelc.files import write_whole
from neelc.ir.algebra import START as VALID_FROM
from neelc.ir.algebra import Algebra, StreamSource, TemporalMatcher
from neelc.ir.bound_rows import HostQuery
from neelc.ir.expressions import MatchProperty
from neelc.ir.names import quote
from neelc.ir.program import Clock, Column, EventType, Match, OutputColumn, Program, Stream
from neelc.ir.types import BIGINT
from neelc.pipeline import compile_query
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import CannotSkip, LimitReached, MultipleRows
from neelc.runtime.reference.events import in_order, ranked, read_events
from neelc.runtime.reference.model import ReferenceEvent
from neelc.runtime.reference.rows import rows_read
from neelc.scalar.spark.trees import identifier
from neelc.source import Source, Span
from neelc.tools.report.drawing import (
    DrawnQuery,
    Recovery,
    Row,
    StrategyVariant,
    drawn_query,
    first_starts,
    panel,
    picture,
    rows_panel,
    ways,
)
from neelc.tools.report.misses import with_misses
from neelc.tools.report.page import report_page
from neelc.tools.report.picture import (
    MOST_EVENTS,
    MOST_EVENTS_IN_NOTEBOOK,
    MOST_EVENTS_SEARCHED,
    MOST_MATCHES,
    START,
    Lane,
    Panel,
    PartOfRows,
    Picture,
    ShownEvents,
    StartNote,
    chosen_part,
    cut,
    drawable,
    hashable,
    lane_of,
)
from neelc.tools.report.places import MOST_OUTLINES, has_positions, mapped
from neelc.tools.report.record import counted
from neelc.tools.report.rows import DrawnClause, clause_picture
from neelc.tools.report.situations import situations_picture, temporal_matcher
from neelc.tools.why.model import Why

if TYPE_CHECKING:
    from neelc.api.query import BoundScript, Query
    from neelc.api.session import Session
    from neelc.engines.spark.compiled import CompiledScript

# What a picture needs of an engine. All else is asked of DataFrames in texts of Spark's SQL, which those of
# the local engine take, too: `where`, `selectExpr`, `orderBy`, `distinct`, `limit`, `count`, `collect`.


class DrawingEngine(Protocol):
    """An engine that finds what is drawn."""

    def found(self, script: DrawnScript, place: int, frames: Mapping[str, Frame]) -> Frame:
        """The rows of a query of a script, over the DataFrames of streams."""

    def first(self, frame: Frame, time: str, most: int) -> tuple[Iterable[Sequence[Any]], int]:
        """The first rows in order of a column, and how many there are."""

    def counts(self, frame: Frame, names: Sequence[str]) -> Frame:
        """How many rows there are of each value of these columns, in a column `count` behind them."""

    def among(self, frame: Frame, names: Sequence[str], lanes: Sequence[Lane]) -> Frame:
        """The rows whose values of these columns are one of the lanes. NULL is a value like others."""

    def first_among(self, frame: Frame, names: Sequence[str], lanes: Sequence[Lane]) -> Frame:
        """The rows in order of these columns, those before others whose values are one of the lanes."""

    def kept(self, frame: Frame) -> AbstractContextManager[Frame]:
        """The same rows, which are read once, although they are asked for several times."""


@dataclass(frozen=True)
class DrawnScript:
    """A script whose queries are drawn, and what they are compiled with."""

    source: Source
    program: Program
    options: Options | None = None
    statistics: Statistics | None = None

    def compiled(self, place: int) -> CompiledScript:
        return compile_query(self.program, place, self.source, self.options, self.statistics)


@dataclass(frozen=True)
class SparkDrawing:
    """Spark finds what is drawn."""

    spark: Frame

    def found(self, script: DrawnScript, place: int, frames: Mapping[str, Frame]) -> Frame:
        compiled = script.compiled(place)
        return run_source(compiled.source, self.spark, frames, compiled.aggregates)

    def first(self, frame: Frame, time: str, most: int) -> tuple[Iterable[Sequence[Any]], int]:
        counted, count = counting(frame)  # in the same pass
        rows = counted.orderBy(time).limit(most).collect()
        return rows, count()

    def counts(self, frame: Frame, names: Sequence[str]) -> Frame:
        return frame.groupBy(*map(quote, names)).count()

    def among(self, frame: Frame, names: Sequence[str], lanes: Sequence[Lane]) -> Frame:
        known = self._lanes(frame, names, lanes)
        return frame.join(known, _same(frame, known, names), "left_semi")

    def first_among(self, frame: Frame, names: Sequence[str], lanes: Sequence[Lane]) -> Frame:
        from pyspark.sql import functions as F

        known = self._lanes(frame, names, lanes)
        joined = frame.join(known, _same(frame, known, names), "left")
        in_order = joined.orderBy(F.col("lane_is").isNull(), *map(quote, names))
        return in_order.select(*map(quote, frame.columns))

    @contextmanager
    def kept(self, frame: Frame) -> Iterator[Frame]:
        kept = frame.persist()
        try:
            yield kept
        finally:
            kept.unpersist()

    def _lanes(self, frame: Frame, names: Sequence[str], lanes: Sequence[Lane]) -> Frame:
        types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        columns = [f"lane_{place} {types[name]}" for place, name in enumerate(names)]
        rows = [(*lane, True) for lane in lanes]
        return self.spark.createDataFrame(rows, ", ".join([*columns, "lane_is BOOLEAN"]))


def _same(left: Frame, right: Frame, names: Sequence[str]) -> Frame:
    pairs = (left[quote(name)].eqNullSafe(right[f"lane_{place}"]) for place, name in enumerate(names))
    return reduce(lambda one, other: one & other, pairs)


# The events of a picture: all of them, or as many as a picture shows.

COUNT = Column("count", BIGINT)

Table = list[dict[str, object]]
"""Rows by the names of their columns."""


class DrawnEvents:
    """The streams of a query, as DataFrames that hold their columns; `clock` is that of the query."""

    def __init__(
        self, engine: DrawingEngine, streams: Sequence[Stream], frames: Mapping[str, Frame], clock: Clock
    ) -> None:
        self.engine = engine
        self.streams = streams
        self.clock = clock
        self.frames = {stream.name: _valid(frames[stream.name], stream) for stream in streams}

    def shown(self, keys: Mapping[str, Sequence[str]], matched: Mapping[Lane, int], most: int) -> ShownEvents:
        """All events if there are no more than `most`, else those of some lanes: those with matches first."""
        total = sum(int(frame.count()) for frame in self.frames.values())
        if total <= most:
            return ShownEvents(self._events(self.frames), total)
        if not keys:
            since = min(matched.values(), default=None)
            return cut(self._events(self.frames, since, most), total, None, since, most)
        counts, lanes = self._counts(keys, matched, most)
        part = chosen_part(counts, matched, most)
        frames = {name: self._of_lanes(name, part.lanes, keys.get(name, ())) for name in self.frames}
        if sum(counts[lane] for lane in part.lanes) <= most:
            return ShownEvents(self._events(frames), total, lanes)
        return cut(self._events(frames, part.since, most), total, lanes, part.since, most)

    def partitions(self, names: Sequence[str], matched: Mapping[Lane, int], most: int) -> tuple[Table, int]:
        """The rows of whole lanes of the one stream, those with matches first, as many as fit; none if the
        first does not. And how many lanes there are."""
        (stream,) = self.streams
        counts, lanes = self._counts({stream.name: names}, matched, most)
        part = chosen_part(counts, matched, most)
        fits = sum(counts[lane] for lane in part.lanes) <= most
        frame = self._of_lanes(stream.name, part.lanes, names)
        return _table(frame, stream) if fits else [], lanes or 0

    def _events(
        self, frames: Mapping[str, Frame], since: int | None = None, most: int | None = None
    ) -> tuple[ReferenceEvent, ...]:
        """The events of these DataFrames; of each, the first `most` that start at `since` or later."""
        found: list[ReferenceEvent] = []
        for stream in self.streams:
            frame = frames[stream.name]
            if since is not None:
                frame = frame.where(
                    f"{identifier(stream.start)} >= {time_literal(since, stream, self.clock)}"
                )
            if most is not None:
                frame = frame.orderBy(quote(stream.start)).limit(most)
            found += read_events(stream, _table(frame, stream), self.clock)
        return in_order(ranked(found))

    def _counts(
        self, keys: Mapping[str, Sequence[str]], matched: Mapping[Lane, int], most: int
    ) -> tuple[dict[Lane, int], int | None]:
        """The events of lanes, those with matches first, at most `most` lanes; and how many there are."""
        counts: dict[Lane, int] = {}
        lanes = 0
        for stream in self.streams:
            names = keys.get(stream.name, ())
            # Columns of the stream may have any name, such as `count`.
            places = [f"key_{place}" for place in range(len(names))]
            renamed = [f"{identifier(name)} AS {place}" for name, place in zip(names, places, strict=True)]
            frame = self.frames[stream.name]
            grouped = self.engine.counts(frame.selectExpr(*renamed) if names else frame, places)
            lanes += int(grouped.count())
            first = grouped
            if names:
                first = self.engine.first_among(grouped, places, _plain(matched)).limit(most)
            columns = [*(column for name in names for column in stream.columns if column.name == name), COUNT]
            for *lane, number in values_of(first.collect(), columns):
                key = hashable(tuple(lane))
                counts[key] = counts.get(key, 0) + int(str(number))
        return counts, lanes if len(self.streams) == 1 else None

    def _of_lanes(self, name: str, lanes: Sequence[Lane], names: Sequence[str]) -> Frame:
        frame = self.frames[name]
        if not names:
            return frame if () in lanes else frame.limit(0)
        return self.engine.among(frame, names, _plain(lanes))


def _plain(lanes: Iterable[Lane]) -> list[Lane]:
    """Those whose values are nested are not compared: they come last."""
    return [lane for lane in lanes if lane and not any(isinstance(v, tuple | frozenset) for v in lane)]


def _table(frame: Frame, stream: Stream) -> Table:
    """The rows of a DataFrame with the columns of a stream."""
    names = [column.name for column in stream.columns]
    return [dict(zip(names, row, strict=True)) for row in values_of(frame.collect(), stream.columns)]


def _valid(frame: Frame, stream: Stream) -> Frame:
    """The columns of the stream; rows without a time, or that end before they start, are no events."""
    events = frame.selectExpr(*selected(column.name for column in stream.columns))
    if stream.is_relation:
        return events
    start, last = (identifier(name) for name in (stream.start, stream.latest or stream.end or stream.start))
    return events.where(f"{start} <= {last}")


# A query that reads another one, as one that reads a stream: so that the events it reads can be drawn.

TIMES = ("match_start", "match_end")


@dataclass(frozen=True)
class UnfoldedQuery:
    """A query whose streams are all DataFrames."""

    query: Match
    frames: Mapping[str, Frame]


def unfolded(
    query: Match,
    program: Program,
    frames: Mapping[str, Frame],
    source: Source,
    found: Callable[[int, Match | Algebra | HostQuery], Frame],
) -> UnfoldedQuery:
    """The query with the rows of the queries before it as streams. `found` gives the rows of the query at a
    place, with other columns.

    A row is an event from `match_start` to `match_end`, which are columns then.
    """
    inner = {stream.name: stream for stream in query.streams if stream.query is not None}
    plain = {stream.name: stream for stream in query.streams if stream.rows_of is not None}
    if not inner and not plain:
        return UnfoldedQuery(query, frames)
    more = dict(frames)
    streams = {name: replace(stream, rows_of=None) for name, stream in plain.items()}
    for name, stream in plain.items():
        place = next(at for at, named in enumerate(program.queries) if named.name == stream.rows_of)
        more[name] = found(place, program.queries[place].query)
    for name, stream in inner.items():
        place, before = _query_of(stream, program, query, source)
        times = tuple(Column(time, before.clock.type) for time in TIMES)
        outputs = [o for o in before.outputs if o.name in {column.name for column in stream.columns}]
        outputs += [OutputColumn(t.name, MatchProperty(t.name, t.type), t.type) for t in times]
        more[name] = found(place, replace(before, outputs=tuple(outputs)))
        streams[name] = replace(stream, columns=(*stream.columns, *times), query=None)
    types = tuple(_with_times(type, streams) for type in query.types)
    read = tuple(streams.get(stream.name, stream) for stream in query.streams)
    return UnfoldedQuery(replace(query, streams=read, types=types), more)


def _with_times(type: EventType, streams: Mapping[str, Stream]) -> EventType:
    """The type with the columns of the times, if one of its streams has them."""
    known = {column.name for column in type.columns}
    read = (streams[member.stream] for member in type.members if member.stream in streams)
    added = {column.name: column for stream in read for column in stream.columns if column.name not in known}
    return replace(type, columns=(*type.columns, *added.values()))


def _query_of(stream: Stream, program: Program, query: Match, source: Source) -> tuple[int, Match]:
    """The place of the query that a stream is, and the query; its rows must be single matches."""
    for place, named in enumerate(program.queries):
        if named.name == stream.query and isinstance(named.query, Match) and not named.query.distinct:
            return place, named.query
    what = f"a picture of `{stream.name}`, whose rows are not single matches"
    hint = "draw that query instead, or use --engine reference"
    span = query.pattern.span or Span(0, 1)
    raise NeelError([Diagnostic("NEEL4001", f"not supported yet: {what}", span, hint)], source)


def _refuse_levels(query: Match, source: Source) -> None:
    """The events of a picture are those of the DataFrames, which have no levels."""
    for one in (one for stream in query.streams for one in stream.derived):
        span = one.span or query.pattern.span or Span(0, 1)
        what = f"a picture of a query that asks for the {one.name}"
        hint = "use --engine reference"
        raise NeelError([Diagnostic("NEEL4001", f"not supported yet: {what}", span, hint)], source)


# A picture of what an engine finds.

Rows = tuple[list[Row], int]
"""Some rows, and how many there are."""


@dataclass(frozen=True)
class FrameDrawing:
    """What it takes to draw a query: the script, the place of the query in it, and its streams."""

    engine: DrawingEngine
    script: DrawnScript
    place: int
    frames: Mapping[str, Frame]

    def picture(
        self,
        subject: DrawnQuery,
        compare: bool = False,
        notes: Iterable[StartNote] = (),
        most: int = MOST_EVENTS,
    ) -> Picture:
        """The query with its matches, found anew with all of their events."""
        found = self._picture(subject, compare, notes, most)
        if not has_positions(subject.query):
            return found
        relations = {
            stream.name: _table(_valid(self.frames[stream.name], stream).limit(MOST_OUTLINES), stream)
            for stream in subject.query.streams
            if stream.is_relation and stream.name in self.frames
        }
        return mapped(found, subject.query, relations)

    def _picture(self, subject: DrawnQuery, compare: bool, notes: Iterable[StartNote], most: int) -> Picture:
        if isinstance(subject.query, HostQuery):
            return self._clause(subject, subject.query, notes, min(most, MOST_EVENTS_SEARCHED))
        if isinstance(subject.query, Algebra):
            return self._select(subject, subject.query, notes, most)
        _refuse_levels(subject.query, self.script.source)
        found_by = unfolded(subject.query, self.script.program, self.frames, self.script.source, self._frame)
        subject, drawing = replace(subject, query=found_by.query), replace(self, frames=found_by.frames)
        variants = ways(found_by.query, compare)
        found = [drawing._found(way, compare) for way in variants]
        events = DrawnEvents(self.engine, found_by.query.streams, found_by.frames, found_by.query.clock)
        starts = _starts(variants, found, subject)
        shown = events.shown(subject.keys, starts, most)
        # Events are only looked up in lanes that have matches: there are fewer of them.
        is_simple = len(found_by.query.streams) == 1 and bool(subject.keys)
        bound = [event for event in shown.events if not is_simple or _lane(event, subject) in starts]
        panels = [_panel(way, rows, shown, bound) for way, rows in zip(variants, found, strict=True)]
        return with_misses(picture(subject, shown, panels, notes), found_by.query, bool(subject.lane_columns))

    def _select(self, subject: DrawnQuery, query: Algebra, notes: Iterable[StartNote], most: int) -> Picture:
        """The rows of a SELECT, and the events of the streams that it reads itself."""
        matcher = temporal_matcher(query)
        if matcher is not None and not subject.lane_columns:
            return self._situations(subject, matcher, tuple(notes), min(most, MOST_EVENTS_SEARCHED))
        read = [stream for stream in query.streams if not stream.is_relation and stream.producer is None]
        rows, total = self._rows(query, VALID_FROM)
        shown = DrawnEvents(self.engine, read, self.frames, query.clock).shown(subject.keys, {}, most)
        return picture(subject, shown, [rows_panel(query, rows, total)], notes)

    def _situations(
        self, subject: DrawnQuery, matcher: TemporalMatcher, notes: Sequence[StartNote], most: int
    ) -> Picture:
        """The runs of a temporal pattern, and its matches, which the reference finds again in the events."""
        program = self.script.program
        needed = (program.queries[place].query for place in program.needed([self.place]))
        read = {one.name: one for query in needed for one in query.streams if one.producer is None}
        tables: dict[str, Table] = {}
        part = None
        with ExitStack() as stack:
            frames = {
                name: stack.enter_context(self.engine.kept(_valid(self.frames[name], one)))
                for name, one in read.items()
            }
            total = sum(int(frame.count()) for frame in frames.values())
            if total <= most:
                tables = {name: _table(frame, read[name]) for name, frame in frames.items()}
            else:
                tables, part = self._partitions(matcher, read, total, most)
        try:
            return situations_picture(matcher, program, self.place, tables, subject.titles, most, notes, part)
        except LimitReached as failure:
            raise failed(failure, program.queries[self.place], self.script.source) from None

    def _partitions(
        self, matcher: TemporalMatcher, read: Mapping[str, Stream], total: int, most: int
    ) -> tuple[dict[str, Table], PartOfRows]:
        """The rows of some partitions; of none where the pattern reads the events of no one stream as they
        are."""
        nothing: dict[str, Table] = {name: [] for name in read}
        source, names = matcher.input, matcher.clause.partition
        if not isinstance(source, StreamSource) or len(read) > 1 or not names:
            return nothing, PartOfRows(total)
        events = DrawnEvents(self.engine, [source.stream], self.frames, matcher.clock)
        rows, lanes = events.partitions(names, {}, most)
        return nothing | {source.stream.name: rows}, PartOfRows(total, lanes)

    def _clause(self, subject: DrawnQuery, host: HostQuery, notes: Iterable[StartNote], most: int) -> Picture:
        """The rows that a MATCH_RECOGNIZE reads, and its matches, which the reference finds again in them."""
        clause = subject.clause
        read = [stream for stream in host.streams if stream.name in clause.query.tables]
        with ExitStack() as stack:
            frames = {one.name: stack.enter_context(self.engine.kept(self._table_read(one))) for one in read}
            total, part = sum(int(frame.count()) for frame in frames.values()), None
            try:
                if total <= most:
                    rows = rows_read(clause.query, {one.name: _table(frames[one.name], one) for one in read})
                else:
                    rows, part = self._part(clause, frames, total, most)
                return clause_picture(clause, rows, subject.titles, most, tuple(notes), part)
            except (LimitReached, CannotSkip, MultipleRows) as failure:
                raise failed(failure, self.script.program.queries[self.place], self.script.source) from None

    def _table_read(self, stream: Stream) -> Frame:
        """The rows of a stream, or of an earlier query, with its columns."""
        frame = self.frames.get(stream.name)
        if stream.producer is not None:
            queries = enumerate(self.script.program.queries)
            place, producer = next((at, one) for at, one in queries if one.name == stream.producer)
            frame = self._frame(place, producer.query)
        assert frame is not None, stream.name
        return frame.selectExpr(*selected(column.name for column in stream.columns))

    def _part(
        self, clause: DrawnClause, frames: Mapping[str, Frame], total: int, most: int
    ) -> tuple[Table, PartOfRows]:
        """The rows of some partitions; of none where the clause does not read them as they are."""
        query, names = clause.query, clause.recognize.partition
        if not isinstance(query.reads, str) or query.nested or clause.recognize.computed or not names:
            return [], PartOfRows(total)
        stream = Stream(query.reads, clause.recognize.columns, "")
        events = DrawnEvents(self.engine, [stream], frames, Clock(BIGINT, "MILLISECOND"))
        rows, lanes = events.partitions(names, self._matched(clause, names, most), most)
        return rows, PartOfRows(total, lanes)

    def _matched(self, clause: DrawnClause, names: Sequence[str], most: int) -> dict[Lane, int]:
        """The partitions with matches, as far as the result of the query has their columns."""
        result = self._frame(self.place, clause.host)
        if not set(names) <= set(result.columns):
            return {}
        types = {column.name: column for column in clause.recognize.columns}
        keys = result.selectExpr(*selected(names)).distinct().limit(most).collect()
        return {hashable(tuple(key)): 0 for key in values_of(keys, [types[name] for name in names])}

    def events_only(self, subject: DrawnQuery, notes: Iterable[StartNote], most: int) -> Picture:
        """The events that the query reads."""
        assert not isinstance(subject.query, HostQuery), "events are those of a PATTERN"
        events = DrawnEvents(self.engine, subject.query.streams, self.frames, subject.query.clock)
        shown = events.shown(subject.keys, {}, most)
        return picture(replace(subject, name="events", text=""), shown, [Panel("EVENTS", words=None)], notes)

    def _found(self, way: StrategyVariant, compare: bool) -> Rows | str:
        """The rows of a query under a strategy; where several are compared, or why there are none."""
        if way.problem is not None:
            return way.problem
        try:
            return self._rows(drawable(way.query), START)
        except NeelError as error:
            if not compare:
                raise
            return error.diagnostics[0].message

    def _rows(self, query: Match | Algebra, time: str) -> Rows:
        """The first rows in order of time, and how many there are: found in one pass."""
        rows, count = self.engine.first(self._frame(self.place, query), time, MOST_MATCHES)
        return list(values_of(rows, query.columns)), count

    def _frame(self, place: int, query: Match | Algebra | HostQuery) -> Frame:
        """The rows of a query that stands in the place of another one."""
        program = self.script.program
        other = replace(program.queries[place], query=query)
        queries = tuple(other if at == place else one for at, one in enumerate(program.queries))
        script = replace(self.script, program=replace(program, queries=queries))
        return self.engine.found(script, place, self.frames)


def _starts(
    variants: Sequence[StrategyVariant], found: Sequence[Rows | str], subject: DrawnQuery
) -> dict[Lane, int]:
    starts: dict[Lane, int] = {}
    for way, rows in zip(variants, found, strict=True):
        if not isinstance(rows, str):
            for lane, start in first_starts(rows[0], way.query, subject.keys).items():
                starts[lane] = min(start, starts.get(lane, start))
    return starts


def _lane(event: ReferenceEvent, subject: DrawnQuery) -> Lane:
    return hashable(lane_of(event, subject.keys))


def _panel(
    way: StrategyVariant, rows: Rows | str, shown: ShownEvents, bound: Sequence[ReferenceEvent]
) -> Panel:
    """The matches of a query; `bound` are the events that are looked up."""
    if isinstance(rows, str):
        return Panel(way.strategy, problem=rows)
    recovery = Recovery(way.query, bound)
    found = [one for row in rows[0] if (one := recovery.found(row)) is not None]
    return panel(way.strategy, way.query, found, rows[1], shown)


Key = str | Sequence[str] | None


@dataclass(frozen=True, repr=False)
class Timeline:
    """A picture of events and matches, which `neelc.timeline` draws. A notebook shows it directly.

    Examples
    --------
    >>> import neelc
    >>> neelc.timeline([{"ts": 1}, {"ts": 2}], timestamp="ts")
    <neelc.Timeline: 2 of 2 events>
    """

    picture: Picture

    @cached_property
    def html(self) -> str:
        """A page that works offline."""
        return report_page([self.picture])

    def save(self, path: str | Path) -> None:
        """Write the page to a file, whole or not at all."""
        write_whole(Path(path), self.html)

    def _repr_html_(self) -> str:
        return framed(self.html)

    def __repr__(self) -> str:
        shown = self.picture.shown
        found = [panel.counted for panel in self.picture.panels if panel.words]
        events = f"{len(shown.events):,} of {counted(shown.total, 'event')}"
        return f"<neelc.Timeline: {', '.join([events, *found])}>"


def timeline(
    events: object,
    query: str | None = None,
    /,
    args: Mapping[str, object] | None = None,
    *,
    name: str = "Events",
    key: Key = None,
    timestamp: str | None = None,
    end: str | None = None,
    type: str | None = None,
    unit: str | None = None,
    compare_strategies: bool = False,
    most_events: int = MOST_EVENTS_IN_NOTEBOOK,
    why: Why | Iterable[StartNote] = (),
    untrusted: bool = False,
) -> Timeline:
    """Events on a time line, and the matches of a query among them. This runs the query.

    Parameters
    ----------
    events : DataFrame, LocalFrame, StreamData, str or data in memory
        A DataFrame of Spark; or what the local engine reads: a `LocalFrame`, data of Arrow, pandas, polars or
        DuckDB, the path of files; or `neelc.stream(...)` of one of these.
    query : str, optional
        A script; its last query is drawn. Without it only the events are drawn: those of a result of
        `neelc.sql` from `match_start` to `match_end`.
    args : dict, optional
        Values of the script's parameters, by their names.
    name : str, default "Events"
        What the query calls the events.
    key : str or list of str, optional
        The columns of the lanes. Default: the key of the query.
    timestamp, end, type, unit : str, optional
        What the columns mean, as in `neelc.stream`.
    compare_strategies : bool, default False
        Whether to draw the same events under the four selection strategies.
    most_events : int, default 50000
        How many events are drawn at most.
    why : Why or list, optional
        The result of `neelc.why`, or other notes on start events.
    untrusted : bool, default False
        Whether the query may read only these events.

    Returns
    -------
    Timeline
        `save(path)` writes it, `html` is the page, and a notebook shows it.

    Examples
    --------
    >>> import neelc
    >>> logins = [{"ts": 1, "user": "ann"}, {"ts": 2, "user": "ann"}, {"ts": 3, "user": "bob"}]
    >>> neelc.timeline(logins, "PATTERN SEQ(Login a, Login b) WHERE [user] WITHIN 1 HOUR", name="Login")
    <neelc.Timeline: 3 of 3 events, 1 match>
    """
    if not isinstance(events, StreamData | str) and not is_frame(events) and not is_local(events):
        raise TypeError(f"events is {no_frame(events, ', data of the local engine or a path')}")
    if isinstance(events, StreamData):
        session, data = _session(events, untrusted)
    else:
        session, data = _session(stream_data(events, type=type, unit=unit), untrusted)
        data = _timed(data, _columns(session, data), timestamp, end)
    given: dict[str, Any] = {name: data}
    if query is None:
        # Every event is a match of its stream's name, which is a type: that says all there is to know of it.
        compiled = session._compiled(Source(f"PATTERN {quote(name)} event"), args, Options(), given)
    else:
        compiled = session.compile(query, args, **given)
    return drawn(compiled, key, compare_strategies, most_events, why, has_matches=query is not None)


def drawn(
    query: Query,
    key: Key = None,
    compare_strategies: bool = False,
    most_events: int = MOST_EVENTS_IN_NOTEBOOK,
    why: Why | Iterable[StartNote] = (),
    has_matches: bool = True,
) -> Timeline:
    """The picture of a compiled query; without its matches, of its events only."""
    with translated():
        bound = query.bound
        refuse_streaming(bound, "a time line")
        named, program, place = written_queries(bound.script, bound.program)[-1], bound.program, bound.last
        lane_columns = (key,) if isinstance(key, str) else tuple(key or ())
        subject = DrawnQuery(
            bound.text.name,
            named.name,
            named.text,
            drawn_query(program.queries[place], bound.text),
            lane_columns,
        )
        drawing = FrameDrawing(query.drawing, DrawnScript(bound.text, program), place, _frames(bound))
        notes = why.notes if isinstance(why, Why) else why
        with clock_of(query.spark):
            if not has_matches:
                return Timeline(drawing.events_only(subject, notes, most_events))
            return Timeline(drawing.picture(subject, compare_strategies, notes, most_events))


def _frames(bound: BoundScript) -> dict[str, Frame]:
    """The DataFrames of all streams that the query reads, by their names."""
    read = streams_read(bound.program, [bound.last])
    return {name: bound.frame(stream) for name, stream in read.items() if bound.is_given(stream)}


def _session(events: StreamData, untrusted: bool) -> tuple[Session, StreamData]:
    """What draws events: Spark those of its DataFrames, else the local engine. And the events for it."""
    from neelc.api.session import Session

    data: Any = events.data
    if is_frame(data):
        return Session(data.sparkSession, untrusted=untrusted), events
    if isinstance(data, str) and events.format is None and not is_path(data):
        raise TypeError("timeline takes data or a path; for tables, compile a query and call its .timeline()")
    from neelc.api.local import session_over

    return session_over(events, untrusted)


def _columns(session: Session, events: StreamData) -> Sequence[str]:
    """The names of the columns of events; of a path, the local engine looks at the files."""
    if not isinstance(events.data, str):
        return list(events.data.columns)
    files: Any = session._stream("events", events, is_declared=True)
    with translated():
        return list(files.columns)


def _timed(events: StreamData, columns: Sequence[str], timestamp: str | None, end: str | None) -> StreamData:
    """The events, with the times that results of queries have."""
    for start, last in (("match_start", "match_end"), ("ts", "te")):
        if timestamp is None and {start, last} <= set(columns):
            timestamp, end = start, end or last
    return replace(events, timestamp=timestamp, end=end)
