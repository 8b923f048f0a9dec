"""The events of streams, and of queries before: for patterns and for the algebra."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from neelc.ir import algebra as a
from neelc.ir.logical import Clock, Match, Stream
from neelc.ir.names import bare
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.model import Event
from neelc.runtime.reference.results import Result, Row, as_events, result
from neelc.runtime.reference.times import by_clock, moment
from neelc.runtime.reference.valid import FOREVER, Valid, named

Tables = Mapping[str, Sequence[Mapping[str, object]]]

ENDLESS = 10**30
"""The end of what has no end, in nanoseconds: after every time there is."""


@dataclass(frozen=True)
class Answer:
    """What a query has found: rows of matches, or payloads with their valid times."""

    query: Match | a.Algebra
    rows: Sequence[Row] = ()
    valid: Sequence[Valid] = ()

    @property
    def result(self) -> Result:
        if isinstance(self.query, Match):
            return result(self.query, self.rows)
        return Result(self.query.columns, [_row(one, self.query) for one in self.valid], has_valid_time=True)


Answers = Mapping[str, Answer]


def _row(event: Valid, query: a.Algebra) -> tuple[object, ...]:
    (of,) = event.binding.values()
    values = (of.attributes[bare(one.name)] for one in query.root.payload)
    end = None if event.end == FOREVER else moment(int(event.end), query.clock)
    return (*values, moment(int(event.start), query.clock), end)


def events_of(stream: Stream, tables: Tables, known: Answers, clock: Clock) -> Iterator[Event]:
    """The events of a stream with the last instants at which they are valid, as a query of that clock counts
    them."""
    if stream.query is None:
        yield from read_events(stream, rows_of_stream(stream, tables), clock)
        return
    answer = known[stream.query]
    if isinstance(answer.query, Match):
        yield from as_events(stream, answer.query, answer.rows, clock)
        return
    for number, one in enumerate(answer.valid):
        (of,) = one.binding.values()
        start, own = int(one.start), answer.query.clock
        last = ENDLESS if one.end == FOREVER else int(one.end) - a.instant(own)
        times = (moment(start, own), None if last == ENDLESS else moment(last, own))
        last = last if last == ENDLESS else by_clock(last, own, clock)
        counted = by_clock(start, own, clock)
        yield Event(stream.name, number, stream.name, counted, last, of.attributes, times)


def valid_of(source: a.Source | a.Relation, tables: Tables, known: Answers, clock: Clock) -> list[Valid]:
    """The events of a source: "every external event (p, t) is mapped to the internal event (p, t, t + 1)"."""
    stream = source.stream
    if isinstance(source, a.Relation):
        rows = rows_of_stream(stream, tables)
        return [Valid(named(source.variable, row), 0, 1) for row in rows]
    length = a.instant(source.clock)
    return [
        Valid({source.variable: event}, event.start, FOREVER if event.end == ENDLESS else event.end + length)
        for event in events_of(stream, tables, known, clock)
    ]


def rows_of_stream(stream: Stream, tables: Tables) -> Sequence[Mapping[str, object]]:
    if stream.name not in tables:
        given = ", ".join(sorted(tables)) or "none"
        raise KeyError(f"no rows are given for stream {stream.name}; given: {given}")
    return tables[stream.name]
