"""A query that reads another one, as one that reads a stream: so that the events it reads can be drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from neelc.api.streams import Frame
from neelc.errors import Diagnostic, NeelError
from neelc.ir.expr import MatchProperty
from neelc.ir.logical import Column, EventType, Match, OutputColumn, Program, Stream
from neelc.source import Source, Span

TIMES = ("match_start", "match_end")


@dataclass(frozen=True)
class Unfolded:
    """A query whose streams are all DataFrames."""

    query: Match
    frames: Mapping[str, Frame]


def unfolded(
    query: Match,
    program: Program,
    frames: Mapping[str, Frame],
    source: Source,
    found: Callable[[int, Match], Frame],
) -> Unfolded:
    """The query with the rows of the queries before it as streams. `found` gives the rows of the query at a
    place, with other columns.

    A row is an event from `match_start` to `match_end`, which are columns then.
    """
    inner = {stream.name: stream for stream in query.streams if stream.query is not None}
    if not inner:
        return Unfolded(query, frames)
    more = dict(frames)
    streams = {}
    for name, stream in inner.items():
        place, before = _query_of(stream, program, query, source)
        times = tuple(Column(time, before.clock.type) for time in TIMES)
        outputs = [o for o in before.outputs if o.name in {column.name for column in stream.columns}]
        outputs += [OutputColumn(t.name, MatchProperty(t.name, t.type), t.type) for t in times]
        more[name] = found(place, replace(before, outputs=tuple(outputs)))
        streams[name] = replace(stream, columns=(*stream.columns, *times), query=None)
    types = tuple(_with_times(type, streams) for type in query.types)
    read = tuple(streams.get(stream.name, stream) for stream in query.streams)
    return Unfolded(replace(query, streams=read, types=types), more)


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
    what = f"a picture of `{stream.name}`, whose rows are no single matches"
    hint = "draw that query instead, or use --engine reference"
    span = query.pattern.span or Span(0, 1)
    raise NeelError([Diagnostic("NEEL4001", f"not supported yet: {what}", span, hint)], source)
