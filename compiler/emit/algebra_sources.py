"""Streams, relations and earlier queries as relations of events with valid times."""

from __future__ import annotations

from collections.abc import Iterable

from neelc.emit.algebra_stage import FOREVER, Emitting, Stage, named, used
from neelc.emit.literals import identifier
from neelc.emit.relations import Select
from neelc.emit.scans import number_of
from neelc.emit.times import as_number, with_room
from neelc.ir.algebra import Relation, Source, instant
from neelc.ir.expr import Attribute, Expr
from neelc.ir.logical import Stream
from neelc.ir.names import bare
from neelc.ir.units import LENGTHS


def emit_source(emitting: Emitting, source: Source, needed: Iterable[Expr]) -> Stage:
    """The events of a stream, or of a query before, with the columns that are needed."""
    stream = source.stream
    payload = used(source.payload, needed)
    columns = named(payload)
    items = _payload_items(payload, list(columns.values()))
    start, end, length = _times(emitting, source)
    name = emitting.let(
        f"{emitting.sources.names[stream.name]}_valid",
        Select(
            emitting.sources.names[stream.name],
            (*items, (start, "start"), (end, "end")),
            having="start < `end`",
        ),
        _comment(stream),
    )
    return Stage(name, columns, length)


def emit_relation(emitting: Emitting, source: Relation, needed: Iterable[Expr]) -> Stage:
    """Rows that are valid forever."""
    payload = used(source.payload, needed)
    columns = named(payload)
    items = _payload_items(payload, list(columns.values()))
    # A relation of which nothing is named still has as many rows as it has.
    selected = Select(emitting.sources.names[source.stream.name], items or (("1", "place"),))
    name = emitting.let(
        f"{emitting.sources.names[source.stream.name]}_rows",
        selected,
        f"The relation {source.stream.name}, valid forever.",
    )
    return Stage(name, columns, timeless=True)


def _payload_items(payload: tuple[Attribute, ...], names: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (identifier(bare(one.name)), name) for one, name in zip(payload, names, strict=True)
    )  # fmt: skip


def _comment(stream: Stream) -> str:
    if stream.query is not None:
        return f"The results of {stream.name}, as long as they are valid."
    long = "up to its end, that included" if stream.end else "for one instant"
    return f"{stream.name}: each event is valid {long}."


def _times(emitting: Emitting, source: Source) -> tuple[str, str, int | None]:
    """When an event begins to be valid, when it no longer is, and the most that it can be valid."""
    stream = source.stream
    lasting = instant(source.clock) // LENGTHS[emitting.unit]
    if stream.query is None:
        start = _number(emitting, stream, stream.start)
        if stream.end is None:
            return start, f"{start} + {lasting}L", lasting
        return start, f"{_number(emitting, stream, stream.end)} + {lasting}L", None
    own, clock = emitting.sources.units[stream.query], emitting.sources.clocks.get(stream.query)
    begins, ends = number_of(stream.start), number_of(stream.end or "")
    start = _of_query(emitting, stream.query, begins)
    if not stream.half_open:
        return start, f"{_of_query(emitting, stream.query, ends)} + {lasting}L", None
    if clock is not None and emitting.sources.is_zoned(stream.query, emitting.clock):
        # The last instant, and one more: days that the session's clock counts may be longer than others.
        last = _of_query(emitting, stream.query, f"({ends} - {instant(clock) // LENGTHS[own]}L)")
        return start, f"IF({ends} = {FOREVER}, {FOREVER}, {last} + {lasting}L)", None
    end = _of_query(emitting, stream.query, ends)
    if own != emitting.unit:
        end = f"IF({ends} = {FOREVER}, {FOREVER}, {end})"
    return start, end, None


def _of_query(emitting: Emitting, query: str, number: str) -> str:
    return emitting.sources.number(number, query, emitting.unit, emitting.clock)


def _number(emitting: Emitting, stream: Stream, name: str) -> str:
    type = next(column.type for column in stream.columns if column.name == name)
    number = as_number(identifier(name), type, stream.unit, emitting.unit, emitting.clock)
    return with_room(number, type, stream.unit, emitting.unit)
