"""A compiled query: its source, its explanation, its DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neelc.api.compiling import sql_of, streams_read
from neelc.api.errors import translated
from neelc.api.registering import Registered
from neelc.api.streams import Frame
from neelc.api.why import why_of
from neelc.cost.statistics import Statistics
from neelc.errors import Diagnostic, NeelError, as_html, render
from neelc.explain.embedded import folded, framed, is_page, preformatted
from neelc.explain.formats import FORMATS, MODES, renderer
from neelc.ir.logical import Program, Stream
from neelc.ir.names import find, written
from neelc.ir.scalar import Function
from neelc.ir.script import Script
from neelc.reasons.model import Why
from neelc.source import Source, Span

if TYPE_CHECKING:
    from neelc.api.timeline import Timeline
    from neelc.emit.compiled import Compiled
    from neelc.report.picture import Note


class Text(str):
    """A text that a console or a notebook shows as it is, not between quotes; HTML as a page in a frame."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return framed(self) if is_page(self) else preformatted(self)


@dataclass(frozen=True)
class Bound:
    """A script with all its names resolved, and the streams that it may read by their bare names."""

    text: Source
    script: Script
    program: Program
    streams: Mapping[str, Registered]

    @property
    def last(self) -> int:
        """The place of the query that is compiled."""
        return len(self.program.queries) - 1

    def is_given(self, stream: Stream) -> bool:
        """Whether a caller gives its data, not the script; `NeelError` if nobody does."""
        if find(written(stream.name), self.streams) is not None:
            return True
        if stream.path is None:
            hint = f"give it: {stream.name}=DataFrame, or say FROM 'path' in CREATE STREAM"
            place = stream.span or Span(0, 1)
            message = f"stream `{stream.name}` has no data"
            raise NeelError([Diagnostic("NEEL5005", message, place, hint)], self.text)
        return False

    def frame(self, stream: Stream) -> Frame:
        """The DataFrame of a stream that is given."""
        found = find(written(stream.name), self.streams)
        assert found is not None
        return self.streams[found].frame(stream)


@dataclass(frozen=True, repr=False)
class Query:
    """The last query of a script, compiled. Nothing is run before an action of Spark's is."""

    spark: Frame
    bound: Bound
    compiled: Compiled

    @property
    def text(self) -> Source:
        """The script."""
        return self.bound.text

    @property
    def source(self) -> Text:
        """PySpark source with one function, `query(spark, streams)`: what `to_df` calls."""
        return Text(self.compiled.source)

    @property
    def plan(self) -> Text:
        """The physical plan."""
        return Text(self.compiled.plan)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is valid, but probably not intended."""
        from neelc.lints import lints

        return tuple(lints(self.bound.program, self.bound.text))

    def to_sql(self) -> Text:
        """The query as one statement of Spark SQL; `NeelQueryError` if its plan is not relational."""
        with translated():
            return Text(sql_of(self.compiled, self.bound.program, self.bound.last, self.bound.text))

    def explain(self, mode: str = "simple", format: str = "text") -> Text:
        """Why the query is executed as it is. docs/reference/explain.md has the modes and formats."""
        return explanation(self.bound, mode, format)

    def why(self, *, key: object = None, between: Sequence[object] | None = None) -> Why:
        """Why the events of a key, between two times, have matches that start with them, or have none."""
        with translated():
            return why_of(self.spark, self.bound, key, between)

    def timeline(
        self,
        *,
        key: str | Sequence[str] | None = None,
        compare_strategies: bool = False,
        why: Why | Iterable[Note] = (),
    ) -> Timeline:
        """The events and the matches of the query on a time line; this runs it. `key` names the columns of
        the lanes; `why` are notes on start events."""
        from neelc.api.timeline import drawn

        return drawn(self, key, compare_strategies, why=why)

    def to_df(self) -> Frame:
        """The matches as a DataFrame of Spark."""
        with translated():
            read = streams_read(self.bound.program, [self.bound.last])
            streams = {
                name: self.bound.frame(stream) for name, stream in read.items() if self.bound.is_given(stream)
            }
        return run_source(self.compiled.source, self.spark, streams, self.compiled.aggregates)

    def __repr__(self) -> str:
        return f"<neelc.Query: {' '.join(self.bound.text.text.split())[:80]}>"

    def _repr_html_(self) -> str:
        return query_html(self.bound.text, self.plan, self.warnings)


def query_html(text: Source, plan: Text, warnings: Iterable[Diagnostic] = ()) -> str:
    """A compiled query in a notebook: its text and warnings, and its plan for who asks for it."""
    told = "".join(as_html(render(one, text)) for one in warnings)
    return preformatted(text.text.strip()) + told + folded("physical plan", plan._repr_html_())


def explanation(bound: Bound, mode: str, format: str) -> Text:
    """Why the last query of a script is executed as it is."""
    from neelc.explain.report import report

    for value, known in ((mode, MODES), (format, tuple(FORMATS))):
        if value not in known:
            raise ValueError(f"explain: no {value!r}; there are {', '.join(known)}")
    found = report(bound.text.name, bound.script, bound.program, Statistics(), [bound.last], bound.text)
    return Text(renderer(format)(found, mode))


def run_source(
    source: str, spark: Frame, streams: Mapping[str, Frame], aggregates: Mapping[str, Function] | None = None
) -> Frame:
    """The DataFrame that a compiled source builds."""
    namespace: dict[str, Any] = {"__name__": "neelc_query"}
    exec(compile(source, "<neelc>", "exec"), namespace)
    return namespace["query"](spark, streams, *([aggregates] if aggregates else []))
