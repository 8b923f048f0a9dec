"""`neelc.timeline`: events and matches as a picture, to look at in a browser or in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.api.compiling import Settings, streams_read
from neelc.api.drawing import SparkDrawing
from neelc.api.errors import NeelQueryError, translated
from neelc.api.host import HostQuery
from neelc.api.streams import Frame, StreamData, is_frame, no_frame
from neelc.api.streams import stream as stream_data
from neelc.api.values import clock_of
from neelc.errors import Diagnostic
from neelc.explain.embedded import framed
from neelc.explain.report import written_queries
from neelc.files import write_whole
from neelc.ir.names import quote
from neelc.reasons.model import Why
from neelc.report.drawing import Subject
from neelc.report.page import report_page
from neelc.report.picture import MOST_EVENTS, Note, Picture
from neelc.report.refusals import ROWS_WITHOUT_A_TIME
from neelc.report.texts import counted

if TYPE_CHECKING:
    from neelc.api.query import Bound, Query

Key = str | Sequence[str] | None


@dataclass(frozen=True, repr=False)
class Timeline:
    """A picture. `html` is a page that works offline; a notebook shows it as it is."""

    picture: Picture

    @cached_property
    def html(self) -> str:
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
    events: Frame | StreamData,
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
    most_events: int = MOST_EVENTS,
    why: Why | Iterable[Note] = (),
    untrusted: bool = False,
) -> Timeline:
    """Events on a time line, and the matches of a query among them.

    `events` is a DataFrame, or `neelc.stream(...)` of one; the query knows it by `name`. Without a query only
    the events are drawn: a result of `neelc.sql`, from `match_start` to `match_end`, or of a SELECT is drawn
    like that, too. `key` names the columns of the lanes, by default those that the query brings together.
    `why` is what `neelc.why` tells of start events, or other notes on them. `untrusted`: the query may read
    these events and nothing else.
    """
    from neelc.api.session import Session

    if not isinstance(events, StreamData | str) and not is_frame(events):
        raise TypeError(f"events is {no_frame(events)}")
    data = events if isinstance(events, StreamData) else _data(events, timestamp, end, type, unit)
    if isinstance(data.data, str):
        raise TypeError(
            "timeline takes a DataFrame; for tables and paths, compile a query and ask it: .timeline()"
        )
    session = Session(data.data.sparkSession, untrusted=untrusted)
    given: dict[str, Any] = {name: data}
    if query is None:
        # Every event is a match of its stream's name, which is a type: that says all there is to know of it.
        compiled = session._compiled(f"PATTERN {quote(name)} event", args, Settings(), given)
    else:
        compiled = session.compile(query, args, **given)
    return drawn(compiled, key, compare_strategies, most_events, why, has_matches=query is not None)


def drawn(
    query: Query | HostQuery,
    key: Key = None,
    compare_strategies: bool = False,
    most_events: int = MOST_EVENTS,
    why: Why | Iterable[Note] = (),
    has_matches: bool = True,
) -> Timeline:
    """The picture of a compiled query; without its matches, of its events only."""
    if isinstance(query, HostQuery):
        span, hint = (
            query.script.statements[-1].span,
            "give its result to neelc.timeline, with timestamp=COLUMN",
        )
        found = Diagnostic("NEEL4001", f"not supported yet: {ROWS_WITHOUT_A_TIME}", span, hint)
        raise NeelQueryError([found], query.script.source)
    with translated():
        bound = query.bound
        named, program, place = written_queries(bound.script, bound.program)[-1], bound.program, bound.last
        wanted = (key,) if isinstance(key, str) else tuple(key or ())
        asked = program.queries[place].query
        subject = Subject(bound.text.name, named.name, named.text, asked, wanted)
        drawing = SparkDrawing(query.spark, bound.text, program, place, _frames(query.bound))
        notes = why.notes if isinstance(why, Why) else why
        with clock_of(query.spark):
            if not has_matches:
                return Timeline(drawing.events_only(subject, notes, most_events))
            return Timeline(drawing.picture(subject, compare_strategies, notes, most_events))


def _frames(bound: Bound) -> dict[str, Frame]:
    """The DataFrames of all streams that the query reads, by their names."""
    read = streams_read(bound.program, [bound.last])
    return {name: bound.frame(stream) for name, stream in read.items() if bound.is_given(stream)}


def _data(
    events: Frame, timestamp: str | None, end: str | None, type: str | None, unit: str | None
) -> StreamData:
    """The events, with the times that results of queries have."""
    for start, last in (("match_start", "match_end"), ("ts", "te")):
        if timestamp is None and {start, last} <= set(events.columns):
            timestamp, end = start, end or last
    return stream_data(events, timestamp=timestamp, end=end, type=type, unit=unit)
