"""A picture of what Spark finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from neelc.api.compiling import Settings, compiled_query
from neelc.api.drawn_events import DrawnEvents
from neelc.api.drawn_networks import unfolded
from neelc.api.local import counting
from neelc.api.query import run_source
from neelc.api.streams import Frame
from neelc.api.values import values_of
from neelc.cost.statistics import Statistics
from neelc.errors import NeelError
from neelc.ir.algebra import START as VALID_FROM
from neelc.ir.algebra import Algebra
from neelc.ir.logical import Match, Program
from neelc.report.drawing import Subject, panel, picture
from neelc.report.on_reference import rows_panel
from neelc.report.picture import MOST_EVENTS, MOST_MATCHES, Lane, Note, Panel, Picture, Shown
from neelc.report.recover import Recovery, Row, first_starts
from neelc.report.strategies import Way, ways
from neelc.report.variant import START, drawable
from neelc.source import Source

Rows = tuple[list[Row], int]
"""Some rows, and how many there are."""


@dataclass(frozen=True)
class SparkDrawing:
    """What it takes to draw a query: the script, the place of the query in it, and its streams."""

    spark: Frame
    source: Source
    program: Program
    place: int
    frames: Mapping[str, Frame]
    settings: Settings | None = None
    statistics: Statistics | None = None

    def picture(
        self, subject: Subject, compare: bool = False, notes: Iterable[Note] = (), most: int = MOST_EVENTS
    ) -> Picture:
        """The query with its matches, found anew with all of their events."""
        if isinstance(subject.query, Algebra):
            return self._select(subject, subject.query, notes, most)
        found_by = unfolded(subject.query, self.program, self.frames, self.source, self._frame)
        subject, drawing = replace(subject, query=found_by.query), replace(self, frames=found_by.frames)
        asked = ways(found_by.query, compare)
        found = [drawing._found(way, compare) for way in asked]
        events = DrawnEvents(self.spark, found_by.query.streams, found_by.frames, found_by.query.clock)
        shown = events.shown(subject.keys, _starts(asked, found, subject), most)
        panels = [_panel(way, rows, shown) for way, rows in zip(asked, found, strict=True)]
        return picture(subject, shown, panels, notes)

    def _select(self, subject: Subject, query: Algebra, notes: Iterable[Note], most: int) -> Picture:
        """The rows of a SELECT, and the events of the streams that it reads itself."""
        read = [stream for stream in query.streams if not stream.is_relation and stream.query is None]
        rows, total = self._rows(query, VALID_FROM)
        shown = DrawnEvents(self.spark, read, self.frames, query.clock).shown(subject.keys, {}, most)
        return picture(subject, shown, [rows_panel(query, rows, total)], notes)

    def events_only(self, subject: Subject, notes: Iterable[Note], most: int) -> Picture:
        """The events that the query reads."""
        events = DrawnEvents(self.spark, subject.query.streams, self.frames, subject.query.clock)
        shown = events.shown(subject.keys, {}, most)
        return picture(replace(subject, name="events", text=""), shown, [Panel("EVENTS", words=None)], notes)

    def _found(self, way: Way, compare: bool) -> Rows | str:
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
        counted, count = counting(self._frame(self.place, query))
        rows = counted.orderBy(time).limit(MOST_MATCHES).collect()
        return list(values_of(rows, query.columns)), count()

    def _frame(self, place: int, query: Match | Algebra) -> Frame:
        """The rows of a query that stands in the place of another one."""
        named = replace(self.program.queries[place], query=query)
        queries = tuple(named if at == place else one for at, one in enumerate(self.program.queries))
        program = replace(self.program, queries=queries)
        compiled = compiled_query(program, place, self.source, self.settings, self.statistics)
        return run_source(compiled.source, self.spark, self.frames, compiled.aggregates)


def _starts(asked: Sequence[Way], found: Sequence[Rows | str], subject: Subject) -> dict[Lane, int]:
    starts: dict[Lane, int] = {}
    for way, rows in zip(asked, found, strict=True):
        if not isinstance(rows, str):
            for lane, start in first_starts(rows[0], way.query, subject.keys).items():
                starts[lane] = min(start, starts.get(lane, start))
    return starts


def _panel(way: Way, rows: Rows | str, shown: Shown) -> Panel:
    if isinstance(rows, str):
        return Panel(way.strategy, problem=rows)
    recovery = Recovery(way.query, shown.events)
    found = [one for row in rows[0] if (one := recovery.found(row)) is not None]
    return panel(way.strategy, way.query, found, rows[1], shown)
