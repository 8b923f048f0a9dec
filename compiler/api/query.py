"""A compiled query: its source, its explanation, its DataFrame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from neelc.api.analysis import analysing
from neelc.api.errors import translated
from neelc.api.observed import StreamObservations
from neelc.api.streaming import refuse_streaming
from neelc.api.streams import Frame, RegisteredStream, streams_read
from neelc.catalog.data_warnings import (
    TypesSeen,
    absent_types,
    missing_types,
    seen_in_parquet,
    tie_note,
    unit_note,
    used_types,
)
from neelc.catalog.statistics.numbers import Statistics
from neelc.errors import Diagnostic, NeelError, as_html, render
from neelc.explain.engine import SPARK, Engine
from neelc.explain.formats import FORMATS, MODES, renderer
from neelc.explain.html import folded, framed, is_page, preformatted
from neelc.ir.expressions import Function
from neelc.ir.names import bare, find, same, written
from neelc.ir.node import walk
from neelc.ir.patterns import Event
from neelc.ir.program import Program, Stream
from neelc.ir.script import CreateStream, Script
from neelc.pattern.cost.gathering import query_name, questions, statistics_json
from neelc.pipeline import write_sql
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neelc.api.gathering import RunObservations
    from neelc.api.timeline import DrawingEngine, Timeline
    from neelc.engines.spark.compiled import CompiledScript
    from neelc.pattern.cost.gathering import StreamQuestions
    from neelc.tools.report.picture import StartNote
    from neelc.tools.why.model import Why


class DisplayText(str):
    """A text that a console or a notebook shows without quotes; HTML as a page in a frame."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return framed(self) if is_page(self) else preformatted(self)


@dataclass(frozen=True)
class BoundScript:
    """A script with all its names resolved, the streams that it may read by their bare names, and what is
    known about them beside WITH STATS."""

    text: Source
    script: Script
    program: Program
    streams: Mapping[str, RegisteredStream]
    statistics: Statistics = field(default_factory=Statistics)

    @property
    def is_streaming(self) -> bool:
        """Whether the query that is compiled reads a stream without end."""
        return any(one.is_streaming for one in streams_read(self.program, [self.last]).values())

    @property
    def last(self) -> int:
        """The place of the query that is compiled."""
        return len(self.program.queries) - 1

    def is_given(self, stream: Stream) -> bool:
        """Whether a caller gives its data, not the script; `NeelError` if nobody does."""
        if stream.path is not None and find(written(stream.name), self.streams) is None:
            return False
        self.frame(stream)
        return True

    def has_unit(self, stream: Stream) -> bool:
        """Whether the unit of a stream's times is declared or given."""
        found = find(written(stream.name), self.streams)
        statements = (one for one in self.script.statements if isinstance(one, CreateStream))
        declared = next((one for one in statements if same(one.name, written(stream.name))), None)
        unit = declared.timestamp.unit if declared is not None and declared.timestamp is not None else None
        return bool(unit or (found is not None and self.streams[found].data.unit))

    def frame(self, stream: Stream) -> Frame:
        """The DataFrame of a stream that is given."""
        return frame_of(stream, self.streams, self.text)


def frame_of(stream: Stream, streams: Mapping[str, RegisteredStream], text: Source) -> Frame:
    """The DataFrame of a stream; `NeelError` if nobody gives its data."""
    found = find(written(stream.name), streams)
    if found is None:
        hint = f"give it: {stream.name}=DataFrame, or say FROM 'path' in CREATE STREAM"
        message = f"stream `{stream.name}` has no data"
        raise NeelError([Diagnostic("NEEL5005", message, stream.span or Span(0, 1), hint)], text)
    return streams[found].frame(stream)


@dataclass(frozen=True, repr=False)
class Query:
    """The last query of a script, compiled. `Session.compile` makes it; nothing has run yet.

    Examples
    --------
    >>> import neelc
    >>> query = neelc.local().compile(
    ...     "PATTERN SEQ(Login a, Login b) WHERE [user] WITHIN 1 MINUTE RETURN a.user, b.ts",
    ...     Login=[{"ts": 1, "user": "ann"}, {"ts": 2, "user": "ann"}],
    ... )
    >>> query.warnings
    ()
    >>> print(query.explain())  # doctest: +ELLIPSIS
    query...
    >>> query.to_df().collect()
    [('ann', 2)]
    """

    spark: Any
    bound: BoundScript
    compiled: CompiledScript
    _observed: list[tuple[StreamObservations, RunObservations]] = field(default_factory=list, compare=False)

    @property
    def text(self) -> Source:
        """The script."""
        return self.bound.text

    @property
    def source(self) -> DisplayText:
        """PySpark source with one function, `query(spark, streams)`: what `to_df` calls."""
        return DisplayText(self.compiled.source)

    @property
    def plan(self) -> DisplayText:
        """The physical plan."""
        return DisplayText(self.compiled.plan)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is valid, but probably not intended."""
        from neelc.tools.lints import lints

        found = (*lints(self.bound.program, self.bound.text), *_absent_types(self.bound))
        return tuple(one.placed(self.bound.text) for one in found)

    def to_sql(self) -> DisplayText:
        """The query as one statement of Spark SQL; `NeelQueryError` if its plan is not relational."""
        with translated():
            return DisplayText(write_sql(self.compiled, self.bound.program, self.bound.last, self.bound.text))

    def explain(self, mode: str = "simple", format: str = "text") -> DisplayText:
        """How the query is executed, and why. docs/reference/explain.md has the modes and formats."""
        return explanation(self.bound, mode, format, self._engine())

    def _engine(self) -> Engine:
        """What an explanation is about."""
        return SPARK

    def why(self, *, key: object = None, between: Sequence[object] | None = None) -> Why:
        """Why the events of a key, between two times, have matches that start with them, or have none."""
        from neelc.api.why import why_of

        with translated():
            refuse_streaming(self.bound, "why")
            return why_of(self.spark, self.bound, key, between)

    def timeline(
        self,
        *,
        key: str | Sequence[str] | None = None,
        compare_strategies: bool = False,
        why: Why | Iterable[StartNote] = (),
    ) -> Timeline:
        """The events and the matches of the query on a time line; this runs it. `key` names the columns of
        the lanes; `why` are notes on start events."""
        from neelc.api.timeline import drawn

        return drawn(self, key, compare_strategies, why=why)

    @property
    def drawing(self) -> DrawingEngine:
        """What finds the events and the matches of a time line."""
        from neelc.api.timeline import SparkDrawing

        return SparkDrawing(self.spark)

    def to_df(self, *, observe: bool = False) -> DataFrame:
        """The matches as a DataFrame of Spark. With `observe`, after an action, `notes` reports what was
        noticed about the events read and `statistics` what was counted; conditions are not pushed into the
        source then."""
        with translated():
            if observe:
                refuse_streaming(self.bound, "to_df(observe=True)")
            read = streams_read(self.bound.program, [self.bound.last])
            streams = {
                name: self.bound.frame(stream) for name, stream in read.items() if self.bound.is_given(stream)
            }
        self._observed.clear()
        compiled, observations = self.compiled, None
        if observe:
            observed = StreamObservations(used_types(self.bound.program), everything=True)
            streams = {name: observed.on(frame, read[name]) for name, frame in streams.items()}
            from neelc.api.gathering import RunObservations

            compiled, asked = self._counted()
            counting = RunObservations(compiled, asked)
            observations = counting.by_key
            self._observed.append((observed, counting))
        query, is_streaming = (
            self.bound.program.queries[-1].query,
            any(one.is_streaming for one in read.values()),
        )
        with translated(), analysing(query, self.text, is_streaming) as bounded:
            made = run_source(compiled.source, self.spark, streams, compiled.aggregates, observations)
            frame: DataFrame = bounded(made)
            return frame

    def notes(self) -> tuple[str, ...]:
        """What the first action on `to_df(observe=True)` has noticed: types that no event has, streams
        without events, integers that are likely times of another unit; on the local engine also events of one
        time that THEN BY would order. `ValueError` before that action."""
        observed, _ = self._observations("notes")
        values = observed.values(1.0)
        if not values and not observed.is_empty:
            raise ValueError("no action has read the events yet: call notes() after one, such as count()")
        return tuple(self._noticed(observed, [name for name, facts in values.items() if not facts]))

    def statistics(self) -> dict[str, Any]:
        """What the first action on `to_df(observe=True)` has counted: numbers of events, shares of conditions
        and rows, as a file of statistics has them. `ValueError` before that action."""
        _, counting = self._observations("statistics")
        counted = counting.streams(1.0)
        if not counted and counting.asked:
            raise ValueError(
                "no action has read all events yet: call statistics() after one, such as count()"
            )
        rows = counting.rows(query_name(self.bound.program, self.bound.last), 1.0)
        found: dict[str, Any] = json.loads(statistics_json(counting.asked, counted, rows))
        return found

    def _counted(self) -> tuple[CompiledScript, dict[str, StreamQuestions]]:
        """The script, which counts what is asked about its streams."""
        from neelc.engines.spark.observing import observed_script

        asked = questions(self.bound.program, [self.bound.last])
        return observed_script(self.compiled, asked), asked

    def _observations(self, what: str) -> tuple[StreamObservations, RunObservations]:
        if not self._observed:
            message = f"nothing is observed: {what}() is for to_df(observe=True), after an action"
            raise ValueError(message)
        (found,) = self._observed
        return found

    def _noticed(self, observed: StreamObservations, unread: Sequence[str]) -> Iterator[str]:
        for name in unread:
            yield f"Spark did not read stream `{name}` to its end: nothing is known of its types"
        yield from missing_types(self.bound.program, observed.types())
        times = observed.times()
        for name, stream in streams_read(self.bound.program, [self.bound.last]).items():
            if name in times and not self.bound.has_unit(stream):
                yield from unit_note(stream, times[name])
        yield from tie_note(observed.ties(), self.bound.program)

    def __repr__(self) -> str:
        return f"<neelc.Query: {' '.join(self.bound.text.text.split())[:80]}>"

    def _repr_html_(self) -> str:
        return query_html(self.bound.text, self.plan, self.warnings)


def _absent_types(bound: BoundScript) -> Iterator[Diagnostic]:
    """Types that are in none of the Parquet files here of a stream: their column is read, if it is small."""
    used = used_types(bound.program)
    seen: dict[str, TypesSeen] = {}
    for stream in bound.program.streams:
        registered = bound.streams.get(find(written(stream.name), bound.streams) or "")
        files = [] if registered is None or stream.type_column is None else registered.parquet_files()
        found = seen_in_parquet(files, stream, used.get(stream.name, ())) if files else None
        seen |= {} if found is None else {stream.name: found}
    events = (node for query in bound.program.pattern_queries for node in walk(query.match.pattern))
    places = {node.type: node.span for node in events if isinstance(node, Event)}
    for name, other in absent_types(bound.program, seen):
        hint = f"did you mean `{other}`?" if other else None
        message = f"no event is of type `{bare(name)}`"
        yield Diagnostic("NEEL6131", message, places.get(name) or Span(0, 1), hint)


def query_html(text: Source, plan: DisplayText, warnings: Iterable[Diagnostic] = ()) -> str:
    """A compiled query in a notebook: its text and warnings, and its plan, folded."""
    warnings_html = "".join(as_html(render(one, text)) for one in warnings)
    return preformatted(text.text.strip()) + warnings_html + folded("physical plan", plan._repr_html_())


def explanation(bound: BoundScript, mode: str, format: str, engine: Engine) -> DisplayText:
    """How the last query of a script is executed, and why."""
    from neelc.explain.host import check_view
    from neelc.explain.report import report

    for value, known in ((mode, MODES), (format, tuple(FORMATS))):
        if value not in known:
            raise ValueError(f"explain: no {value!r}; there are {', '.join(known)}")
    found = report(
        bound.text.name,
        bound.script,
        bound.program,
        bound.statistics,
        [bound.last],
        bound.text,
        bound.is_streaming,
        engine,
    )
    check_view(found, format, mode)
    return DisplayText(renderer(format)(found, mode))


def run_source(
    source: str,
    spark: Frame,
    streams: Mapping[str, Frame],
    aggregates: Mapping[str, Function] | None = None,
    observations: Mapping[str, Frame] | None = None,
) -> Frame:
    """The DataFrame that a compiled source builds; `observations` are those of an observed one."""
    namespace: dict[str, Any] = {"__name__": "neelc_query"}
    exec(compile(source, "<neelc>", "exec"), namespace)
    given = [one for one in (aggregates, observations) if one]
    return namespace["query"](spark, streams, *given)
