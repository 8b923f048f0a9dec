"""Streaming DataFrames: which streams of a query have no end, how long they wait for late events, and what is
refused on them. Nothing runs: all of it is in their schemas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from neelc.api.streams import Frame, streams_read
from neelc.catalog.catalog import clock_of
from neelc.errors import Diagnostic, NeelError
from neelc.ir.bound_rows import HostQuery
from neelc.ir.names import find, same, written
from neelc.ir.patterns import window_of_microseconds
from neelc.ir.program import Match, Program, Stream
from neelc.ir.script import CreateStream
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span

if TYPE_CHECKING:
    from neelc.api.query import BoundScript


def streaming_names(bound: BoundScript, places: Sequence[int] | None = None) -> list[str]:
    """The streams of the script's last query, or of those at some places, whose DataFrames are streaming, by
    their bare names."""
    read = streams_read(bound.program, [bound.last] if places is None else places)
    found = {name: find(written(name), bound.streams) for name in read}
    return [name for name, key in found.items() if key is not None and bound.streams[key].is_streaming]


def with_watermarks(bound: BoundScript) -> BoundScript:
    """The script with what its streaming DataFrames are: `bound` itself if there are none. Raises `NeelError`
    if one has no watermark that holds for its timestamp, or if streaming and bounded data stand in one
    query."""
    endless = streaming_names(bound)
    if not endless:
        return bound
    refuse_mixtures(bound.program, bound.last, endless, bound.text)
    return _with_watermarks(bound, endless, [bound.last])


def _with_watermarks(bound: BoundScript, endless: Sequence[str], places: Sequence[int]) -> BoundScript:
    read = streams_read(bound.program, places)
    known = {name: _watermarked(read[name], bound) for name in endless}
    program = bound.program.with_streams(
        lambda one: known.get(one.name, one) if one.producer is None else one
    )
    return replace(bound, program=program)


@dataclass(frozen=True)
class StreamingRules:
    """A script with what its streaming DataFrames are, the `places` of the rules that can be executed over
    them, and what is wrong with the `others`."""

    bound: BoundScript
    places: tuple[int, ...]
    is_streaming: bool = False
    others: tuple[NeelError, ...] = ()


def streaming_rules(bound: BoundScript, places: Sequence[int]) -> StreamingRules:
    """The script for the rules at these places. A rule that reads streaming and bounded data is left out, and
    so is one that reads bounded data only where others do not: Spark cannot put their rows together. Raises
    `NeelError` if a stream has no watermark that holds for its timestamp."""
    endless = streaming_names(bound, places)
    if not endless:
        return StreamingRules(bound, tuple(places))
    able: list[int] = []
    wrong: list[NeelError] = []
    for place in places:
        own = streaming_names(bound, [place])
        try:
            refuse_mixtures(bound.program, place, own, bound.text)
            if not own:
                raise _bounded_rule(bound, place, endless[0])
            able.append(place)
        except NeelError as error:
            wrong.append(error)
    if not able:
        raise wrong[0]
    return StreamingRules(_with_watermarks(bound, endless, places), tuple(able), True, tuple(wrong))


def _bounded_rule(bound: BoundScript, place: int, endless: str) -> NeelError:
    named = bound.program.queries[place]
    message = f"`{named.name}` reads bounded data, and `{endless}`, which other rules read, has no end"
    hint = "run it apart, or give its streams as streaming DataFrames"
    return _refusal("NEEL4143", message, named.span, hint, bound.text)


def refuse_streaming(bound: BoundScript, what: str) -> None:
    """Raises `NeelError` if the query reads a streaming DataFrame: `what` is for bounded data."""
    endless = streaming_names(bound)
    if endless:
        message = f"{what} reads bounded data, and stream `{endless[0]}` is a streaming DataFrame"
        hint = f"give it events of the past: {endless[0]}=spark.read..., the same files, topic or table"
        span = bound.program.queries[bound.last].span or Span(0, 1)
        raise NeelError([Diagnostic("NEEL4130", message, span, hint)], bound.text)


# Streaming and bounded data in one query.


def refuse_mixtures(program: Program, place: int, endless: Iterable[str], text: Source) -> None:
    """Raises `NeelError` if the query at a place, whose streams `endless` are streaming, reads both kinds of
    data. Relations are bounded, and so is what Spark's own SQL joins; events of other queries are not."""
    without_end = set(endless)
    for needed in program.needed([place]):
        named = program.queries[needed]
        query = named.query
        own = query.pattern.span if isinstance(query, Match) else query.span
        streaming = [one for one in query.streams if (one.producer or one.name) in without_end]
        for stream in (table for one in query.streams for table in one.tables if table.name in without_end):
            if stream.is_relation and stream.producer is None:
                message = f"relation `{stream.name}` is a streaming DataFrame, and a relation has no times"
                hint = "give a bounded DataFrame, or declare a stream: CREATE STREAM ... TIMESTAMP BY"
                raise _refusal("NEEL4143", message, own, hint, text)
        if streaming and named.name is not None:
            without_end.add(named.name)
        if streaming and isinstance(query, HostQuery) and query.is_ordered:
            message = "ORDER BY over a stream without end: its rows have no last one"
            raise _refusal("NEEL4130", message, own, "sort what is written, or leave ORDER BY out", text)
        bounded = [one for one in query.streams if one not in streaming and not one.is_relation]
        if streaming and bounded and not isinstance(query, HostQuery):
            message = f"stream `{streaming[0].name}` is a streaming DataFrame, and `{bounded[0].name}` is not"
            hint = (
                f"read both with spark.readStream; a table that has no end of its own to wait for is a "
                f"relation of a SELECT: CREATE RELATION {written(bounded[0].name)}"
            )
            raise _refusal("NEEL4143", message, own, hint, text)


def _refusal(code: str, message: str, span: Span | None, hint: str, text: Source) -> NeelError:
    return NeelError([Diagnostic(code, message, span or Span(0, 1), hint)], text)


# Watermarks: of the DataFrame, of the script, or of the call.


def _watermarked(stream: Stream, bound: BoundScript) -> Stream:
    """The stream with its watermark: that of the DataFrame, if it has one, else the one that is declared."""
    registered = bound.streams[find(written(stream.name), bound.streams) or ""]
    frame, there = registered.plain_frame, registered.watermarks
    column = find(written(stream.start), there) if stream.start else next(iter(there), None)
    if column is not None:
        delay = there[column]
        if stream.watermark not in (None, delay):
            _report_delays(stream, delay, frame, bound)
        return replace(stream, watermark=delay, is_streaming=True, watermarked=True)
    if there:
        _report_column(stream, next(iter(there)), frame, bound)
    if stream.watermark is None:
        _report_missing(stream, frame, bound)
    return replace(stream, is_streaming=True)


def _report_missing(stream: Stream, frame: Frame, bound: BoundScript) -> NoReturn:
    message = (
        f"stream `{stream.name}` is a streaming DataFrame without a watermark: it is not known how long to "
        "wait for late events"
    )
    raise _at_timestamp("NEEL4140", message, _ways(stream, frame), stream, frame, bound)


def _report_column(stream: Stream, other: str, frame: Frame, bound: BoundScript) -> NoReturn:
    message = f"the watermark of stream `{stream.name}` is on column `{other}`, not on `{stream.start}`"
    hint = f"{_ways(stream, frame)}, instead of the watermark on `{other}`"
    raise _at_timestamp("NEEL4141", message, hint, stream, frame, bound)


def _report_delays(stream: Stream, delay: int, frame: Frame, bound: BoundScript) -> NoReturn:
    declared = window_of_microseconds(stream.watermark or 0)
    message = (
        f"stream `{stream.name}` has two watermarks: {declared} by declaration, "
        f"{window_of_microseconds(delay)} by its DataFrame"
    )
    raise _at_timestamp("NEEL4142", message, "leave one of them out", stream, frame, bound)


def _ways(stream: Stream, frame: Frame) -> str:
    """How the stream gets a watermark; Spark has none on integers and dates."""
    declared = 'say WATERMARK 10 SECONDS in CREATE STREAM, or neelc.stream(..., watermark="10 seconds")'
    types = {column.name: column.type for column in stream.columns}
    clock = clock_of(types[stream.start], "") if stream.start in types else None
    if clock is not None and str(clock.type) == "TIMESTAMP" and stream.timestamp_format is None:
        return f'add .withWatermark("{written(stream.start)}", "10 seconds") to the DataFrame, or {declared}'
    return declared


def _at_timestamp(
    code: str, message: str, hint: str, stream: Stream, frame: Frame, bound: BoundScript
) -> NeelError:
    """An error that points at what declares the stream's time, or at its column in the DataFrame."""
    statements = (one for one in bound.script.statements if isinstance(one, CreateStream))
    declared = next((one for one in statements if same(one.name, written(stream.name))), None)
    if declared is not None:
        places = (declared.watermark if code == "NEEL4142" else None, declared.timestamp, declared)
        span = next((one.span for one in places if one is not None and one.span is not None), Span(0, 1))
        return NeelError([Diagnostic(code, message, span, hint)], bound.text)
    names = list(frame.columns)
    at = names.index(stream.start) if stream.start in names else 0
    begin = sum(len(name) + len(", ") for name in names[:at])
    text = Source(", ".join(names), f"stream {stream.name}")
    return NeelError([Diagnostic(code, message, Span(begin, begin + len(names[at])), hint)], text)
