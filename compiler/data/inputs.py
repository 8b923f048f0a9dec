"""From a script and the streams given from outside to what the binder and a run need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from neelc.data.infer import common_type, likely_timestamp, settled
from neelc.data.location import Location, declared_location, written_span
from neelc.data.table import Row, Table
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.ir.datetime_patterns import EXAMPLE, LETTERS, Malformed, pattern_of
from neelc.ir.logical import Column, Program, Stream
from neelc.ir.names import find, same, written
from neelc.ir.script import ColumnDefinition, CreateStream, Script, Statement, Timestamp
from neelc.ir.types import BIGINT, DOUBLE, STRING, TIMESTAMP, VOID, DataType, Formatted
from neelc.ir.units import LENGTHS
from neelc.source import Source, Span

UNITS = tuple(reversed(LENGTHS))
_SHORT_UNITS = {"ns": "NANOSECOND", "us": "MICROSECOND", "ms": "MILLISECOND", "s": "SECOND"}


@dataclass(frozen=True)
class Given:
    """A stream given from outside: by `--stream`, or as the events of a case. Names are in source form.

    `open` gives its tables; with True only the schema is needed. `location` is where they lie, if in files.
    """

    name: str
    open: Callable[[bool], list[Table]]
    timestamp: str | None = None
    latest: str | None = None
    end: str | None = None
    type_by: str | None = None
    unit: str | None = None
    location: Location | None = None
    timestamp_format: str | None = None


@dataclass(frozen=True)
class Inputs:
    """A script, completed; the streams it does not declare; and where all data come from. `is_guessed` if the
    data have no value in a column that nobody declares."""

    script: Script
    streams: tuple[Stream, ...]
    given: tuple[Given, ...]
    source: Source
    directory: Path
    is_guessed: bool = False


class Guess(NamedTuple):
    """The types of columns in which there is no value: of those that are times, and of all others."""

    time: DataType
    other: DataType


GUESSES = (
    Guess(BIGINT, STRING),
    Guess(TIMESTAMP, STRING),
    Guess(BIGINT, DOUBLE),
    Guess(TIMESTAMP, DOUBLE),
)
"""A file with a header and no rows has no matches, whatever its types are. They must only fit the query."""


def unit_of(text: str) -> str | None:
    """
    >>> unit_of("ms"), unit_of("Seconds"), unit_of("fortnight")
    ('MILLISECOND', 'SECOND', None)
    """
    word = text.upper()
    return _SHORT_UNITS.get(text.lower()) or next((u for u in UNITS if word in (u, u + "S")), None)


def complete(
    script: Script, source: Source, given: Sequence[Given], directory: Path, guess: Guess = GUESSES[0]
) -> Inputs:
    """Fill in what CREATE STREAM leaves to data and caller, and describe the streams it does not name.

    Raises `NeelError` if data that tell a schema cannot be read.
    """
    found = tuple(_completed(s, source, given, directory) for s in script.statements)
    declared = [s.name for s in found if isinstance(s, CreateStream)]
    read = tuple(_stream(g) for g in given if find(g.name, declared) is None)
    statements = tuple(_guessed_statement(s, guess) if isinstance(s, CreateStream) else s for s in found)
    streams = tuple(_guessed_stream(stream, guess) for stream in read)
    known = replace(script, statements=statements)
    return Inputs(known, streams, tuple(given), source, directory, (statements, streams) != (found, read))


def _guessed_statement(statement: CreateStream, guess: Guess) -> CreateStream:
    if all(column.type != VOID for column in statement.columns):
        return statement
    time = statement.timestamp
    times = [name for name in (time and time.start, time and time.latest, statement.end) if name]
    columns = (
        column
        if column.type != VOID
        else replace(column, type=guess.time if find(column.name, times) else guess.other)
        for column in statement.columns
    )
    return replace(statement, columns=tuple(columns))


def _guessed_stream(stream: Stream, guess: Guess) -> Stream:
    times = (stream.start, stream.latest, stream.end)
    columns = (
        column
        if column.type != VOID
        else replace(column, type=guess.time if column.name in times else guess.other)
        for column in stream.columns
    )
    return replace(stream, columns=tuple(columns))


def _completed(statement: Statement, source: Source, given: Sequence[Given], directory: Path) -> Statement:
    if not isinstance(statement, CreateStream):
        return statement
    outside = _given(statement.name, given)
    if outside is not None:
        statement = _with_settings(statement, outside)
    location = declared_location(statement, source, directory)
    if location is not None and (outside is None or outside.location is None):
        location.check_kind()
    if statement.columns:
        return statement
    if outside is None and location is None:
        return statement
    tables = outside.open(True) if outside else location.tables(True) if location else []
    found = with_texts(merged(tables), statement.type_by, *_texts(statement, outside))
    columns = tuple(ColumnDefinition(written(c.name), c.type, span=statement.span) for c in found)
    completed = replace(statement, columns=columns)
    if (
        statement.timestamp is None
        and not statement.is_relation
        and (start := likely_timestamp(c.name for c in columns))
    ):
        format = outside.timestamp_format if outside else None
        completed = replace(completed, timestamp=Timestamp(start, format=format, span=statement.span))
    return completed


def _texts(statement: CreateStream, given: Given | None) -> tuple[str | None, ...]:
    """The columns that a pattern says how to read."""
    time = statement.timestamp
    is_said = (time is not None and time.format is not None) or (given and given.timestamp_format)
    return (time.start if time else None, statement.end) if is_said else ()


def _with_settings(statement: CreateStream, given: Given) -> CreateStream:
    """What the caller says, where the script says nothing; the two must not contradict each other."""
    if statement.is_relation and (given.timestamp or given.latest or given.end or given.type_by):
        raise CallError(f"stream {given.name}: the script says that it is a relation, which has no times")
    time = statement.timestamp
    for clause, said, also in (
        ("TIMESTAMP", time.start if time else None, given.timestamp),
        ("TIMESTAMP", time.latest if time else None, given.latest),
        ("UNIT", time.unit if time else None, given.unit),
        ("FORMAT", time.format if time else None, given.timestamp_format),
        ("END BY", statement.end, given.end),
        ("TYPE BY", statement.type_by, given.type_by),
    ):
        if said is not None and also is not None and not same(said, also):
            raise CallError(f"stream {given.name}: the script says {clause} {said}, the call says {also}")
    start = time.start if time else given.timestamp
    if start is not None:
        known = time or Timestamp(start, span=statement.span)
        time = replace(
            known,
            latest=known.latest or given.latest,
            unit=known.unit or given.unit,
            format=known.format or given.timestamp_format,
        )
    return replace(
        statement,
        timestamp=time,
        end=statement.end or given.end,
        type_by=statement.type_by or given.type_by,
    )


def _stream(given: Given) -> Stream:
    columns = with_texts(merged(given.open(True)), given.type_by)
    names = [column.name for column in columns]
    listed = f"columns: {', '.join(names)}"

    def column(name: str | None, role: str) -> str | None:
        found = None if name is None else find(name, names)
        if name is not None and found is None:
            raise CallError(f"stream {given.name}: no column {name}, given as the {role}; {listed}")
        return found

    start = column(given.timestamp, "timestamp") or likely_timestamp(names)
    if start is None:
        raise CallError(f"stream {given.name}: which column is the timestamp? Say timestamp=COLUMN; {listed}")
    end = column(given.end, "end")
    return Stream(
        given.name,
        columns if given.timestamp_format is None else _read_by(given, columns, (start, end)),
        start,
        end=end,
        latest=column(given.latest, "latest time"),
        unit=given.unit or "MILLISECOND",
        type_column=column(given.type_by, "type"),
        timestamp_format=given.timestamp_format,
    )


def _read_by(given: Given, columns: Sequence[Column], names: Sequence[str | None]) -> tuple[Column, ...]:
    """The columns, some of which a pattern makes TIMESTAMPs."""
    try:
        pattern_of(given.timestamp_format or "")
    except Malformed as why:
        message = f"timestamp_format={given.timestamp_format}: {why}; letters: {LETTERS}"
        raise CallError(f"stream {given.name}: {message}; for example {EXAMPLE}") from None
    return tuple(replace(c, type=TIMESTAMP) if c.name in names else c for c in columns)


def merged(tables: Sequence[Table]) -> tuple[Column, ...]:
    """The columns of all parts of a table together."""
    types = {column.name: column.type for table in tables[:1] for column in table.columns()}
    for table in tables[1:]:
        for column in table.columns():
            known = types.get(column.name)
            types[column.name] = column.type if known is None else common_type(known, column.type)
    return tuple(Column(name, settled(type)) for name, type in types.items())


def with_texts(columns: Sequence[Column], *names: str | None) -> tuple[Column, ...]:
    """Some columns hold texts, even where every text is a number: types, and times of a pattern."""
    known = [name for name in names if name is not None]
    is_text = [any(same(written(column.name), name) for name in known) for column in columns]
    return tuple(replace(c, type=STRING) if named else c for c, named in zip(columns, is_text, strict=True))


def _given(name: str, given: Sequence[Given]) -> Given | None:
    return next((g for g in given if same(written(g.name), name)), None)


def read(inputs: Inputs, program: Program) -> tuple[dict[str, list[Row]], list[NeelError]]:
    """The rows of every stream the queries read, and what went wrong: one error for each file."""
    used = {
        stream.name: stream for query in program.queries for stream in query.query.streams if not stream.query
    }
    tables: dict[str, list[Row]] = {}
    failures: list[NeelError] = []
    for name, stream in used.items():
        try:
            tables[name] = rows_of(inputs, name, raw_columns(stream))
        except NeelError as failure:
            failures.append(failure)
    return tables, failures


def raw_columns(stream: Stream) -> tuple[Column, ...]:
    """The columns of a stream as its data hold them: some times are texts of a pattern."""
    if stream.timestamp_format is None:
        return stream.columns
    kind = Formatted(stream.timestamp_format)
    return tuple(replace(c, type=kind) if c.name in stream.texts else c for c in stream.columns)


def rows_of(inputs: Inputs, name: str, columns: Sequence[Column]) -> list[Row]:
    """The rows of a stream."""
    return [row for table in _tables(inputs, name) for row in table.rows(columns)]


def _tables(inputs: Inputs, name: str) -> list[Table]:
    outside = _given(written(name), inputs.given)
    if outside is not None:
        return outside.open(False)
    statement = _statement(name, inputs.script)
    location = declared_location(statement, inputs.source, inputs.directory) if statement else None
    if location is not None:
        return location.tables()
    raise no_data(inputs, name)


def no_data(inputs: Inputs, name: str) -> NeelError:
    """Nobody says where the data of a stream are."""
    statement = _statement(name, inputs.script)
    span = written_span(statement, inputs.source, statement.name) if statement else Span(0, 1)
    hint = f"say FROM 'path' in CREATE STREAM, or give the data with --stream {name}=path"
    return NeelError([Diagnostic("NEEL5005", f"stream `{name}` has no data", span, hint)], inputs.source)


def location_of(inputs: Inputs, name: str) -> Location | None:
    """Where the data of a stream lie, if they lie in files."""
    outside = _given(written(name), inputs.given)
    if outside is not None:
        return outside.location
    statement = _statement(name, inputs.script)
    return declared_location(statement, inputs.source, inputs.directory) if statement else None


def said_unit(inputs: Inputs, name: str) -> str | None:
    """The unit of a stream's times, if the script or the caller says it."""
    outside, statement = _given(written(name), inputs.given), _statement(name, inputs.script)
    time = None if statement is None else statement.timestamp
    return (time.unit if time else None) or (outside.unit if outside else None)


def _statement(name: str, script: Script) -> CreateStream | None:
    streams = (s for s in script.statements if isinstance(s, CreateStream))
    return next((s for s in streams if same(s.name, written(name))), None)
