"""From a script and the streams given from outside to what the binder and a run need."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from neelc.catalog.catalog import clock_of
from neelc.catalog.data_files import path_from
from neelc.catalog.location import Location
from neelc.catalog.readers.text import (
    Row,
    Table,
    TypeMismatch,
    common_type,
    from_text,
    likely_timestamp,
    settled,
)
from neelc.catalog.streams import watermark_delay
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.findings import Findings
from neelc.ir.names import Identifier, bare, find, same, written
from neelc.ir.patterns import Window, window_of_microseconds
from neelc.ir.program import Column, Program, Stream, streams_read
from neelc.ir.script import (
    ColumnDefinition,
    CreateQuery,
    CreateStream,
    HostSelect,
    RunQuery,
    Script,
    Statement,
    Timestamp,
)
from neelc.ir.types import (
    BIGINT,
    DOUBLE,
    LENGTHS,
    STRING,
    TIMESTAMP,
    VOID,
    Array,
    DataType,
    FormattedTimestamp,
    Map,
    SimpleType,
    Struct,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.datetime_patterns import EXAMPLE, LETTERS, MalformedPattern, pattern_of
from neelc.runtime.values.times import day_interval_text, timestamp_text
from neelc.source import Source, Span
from neelc.syntax import window


def declared_location(statement: CreateStream, source: Source, directory: Path) -> Location | None:
    """Where CREATE STREAM says its data lie, relative to the script's directory."""
    if statement.path is None:
        return None
    options = {_bare_key(option.key): option.value for option in statement.options}
    span = statement.path_span or statement.span or Span(0, 1)
    path = path_from(directory, statement.path)
    return Location(statement.path, path, source, span, statement.format, options)


def _bare_key(key: str) -> str:
    return Identifier(bare(key), key.span) if isinstance(key, Identifier) else bare(key)


UNITS = tuple(reversed(LENGTHS))
_SHORT_UNITS = {"ns": "NANOSECOND", "us": "MICROSECOND", "ms": "MILLISECOND", "s": "SECOND"}


@dataclass(frozen=True)
class GivenStream:
    """A stream given from outside: by `--stream`, or as the events of a case. Names are in source form.

    `open` gives its tables; with True only the schema is needed. `location` is where they lie, if in files.
    `watermark` is in microseconds. `event_time` is the column that is the timestamp where nobody says which.
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
    watermark: int | None = None
    event_time: str | None = None
    then_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """A script, completed; the streams it does not declare; and where all data come from. `is_guessed` if the
    data have no value in a column that nobody declares."""

    script: Script
    streams: tuple[Stream, ...]
    given: tuple[GivenStream, ...]
    source: Source
    directory: Path
    is_guessed: bool = False


class GuessedTypes(NamedTuple):
    """The types of columns in which there is no value: of those that are times, and of all others."""

    time: DataType
    other: DataType


GUESSES = (
    GuessedTypes(BIGINT, STRING),
    GuessedTypes(TIMESTAMP, STRING),
    GuessedTypes(BIGINT, DOUBLE),
    GuessedTypes(TIMESTAMP, DOUBLE),
)
"""A file with a header and no rows has no matches, whatever its types are. They must only fit the query."""


def unit_of(text: str) -> str | None:
    """
    >>> unit_of("ms"), unit_of("Seconds"), unit_of("fortnight")
    ('MILLISECOND', 'SECOND', None)
    """
    word = text.upper()
    return _SHORT_UNITS.get(text.lower()) or next((u for u in UNITS if word in (u, u + "S")), None)


def watermark_of(text: str) -> int:
    """The delay of a watermark, in microseconds; `ValueError` if the text is none.

    >>> watermark_of("10 seconds"), watermark_of("1 hour 30 minutes")
    (10000000, 5400000000)
    """
    for written_so in (text, f"INTERVAL {text}"):
        with suppress(NeelError):
            return watermark_delay(window(written_so))
    raise ValueError(f"`{text}` is not a length of time; for example 10 seconds")


def complete(
    script: Script,
    source: Source,
    given: Sequence[GivenStream],
    directory: Path,
    guess: GuessedTypes = GUESSES[0],
) -> Inputs:
    """Fill in what CREATE STREAM leaves to data and caller, and describe the streams it does not name.

    Raises `NeelError` if data that have a schema cannot be read.
    """
    found = tuple(_completed(s, source, given, directory) for s in script.statements)
    declared = [s.name for s in found if isinstance(s, CreateStream)]
    # Spark's own SQL needs no times: a stream without them is reported where they are needed.
    hosts = [s for s in found if isinstance(s, CreateQuery | RunQuery) and isinstance(s.query, HostSelect)]
    read = tuple(_stream(g, bool(hosts)) for g in given if find(g.name, declared) is None)
    statements = tuple(_guessed_statement(s, guess) if isinstance(s, CreateStream) else s for s in found)
    streams = tuple(_guessed_stream(stream, guess) for stream in read)
    known = replace(script, statements=statements)
    return Inputs(known, streams, tuple(given), source, directory, (statements, streams) != (found, read))


def _guessed_statement(statement: CreateStream, guess: GuessedTypes) -> CreateStream:
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


def _guessed_stream(stream: Stream, guess: GuessedTypes) -> Stream:
    times = (stream.start, stream.latest, stream.end)
    columns = (
        column
        if column.type != VOID
        else replace(column, type=guess.time if column.name in times else guess.other)
        for column in stream.columns
    )
    return replace(stream, columns=tuple(columns))


def _completed(
    statement: Statement, source: Source, given: Sequence[GivenStream], directory: Path
) -> Statement:
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
        and (start := (outside and outside.event_time) or likely_timestamp(c.name for c in columns))
    ):
        format = outside.timestamp_format if outside else None
        completed = replace(completed, timestamp=Timestamp(start, format=format, span=statement.span))
    return completed


def _texts(statement: CreateStream, given: GivenStream | None) -> tuple[str | None, ...]:
    """The columns that a pattern says how to read."""
    time = statement.timestamp
    has_format = (time is not None and time.format is not None) or (given and given.timestamp_format)
    return (time.start if time else None, statement.end) if has_format else ()


def _with_settings(statement: CreateStream, given: GivenStream) -> CreateStream:
    """What the caller says, where the script says nothing; the two must not contradict each other."""
    columns = (given.timestamp, given.latest, given.end, given.type_by, *given.then_by)
    has_times = any(columns) or given.watermark is not None
    if statement.is_relation and has_times:
        raise CallError(f"stream {given.name}: the script says that it is a relation, which has no times")
    time = statement.timestamp
    for clause, in_script, in_call in (
        ("TIMESTAMP", time.start if time else None, given.timestamp),
        ("TIMESTAMP", time.latest if time else None, given.latest),
        ("UNIT", time.unit if time else None, given.unit),
        ("FORMAT", time.format if time else None, given.timestamp_format),
        ("END BY", statement.end, given.end),
        ("TYPE BY", statement.type_by, given.type_by),
        ("THEN BY", _listed(time.then_by) if time else None, _listed(given.then_by)),
    ):
        if in_script is not None and in_call is not None and not same(in_script, in_call):
            raise CallError(
                f"stream {given.name}: the script says {clause} {in_script}, the call says {in_call}"
            )
    watermark = _watermark(statement, given)
    start = time.start if time else given.timestamp
    if start is not None:
        known = time or Timestamp(start, span=statement.span)
        time = replace(
            known,
            latest=known.latest or given.latest,
            unit=known.unit or given.unit,
            format=known.format or given.timestamp_format,
            then_by=known.then_by or given.then_by,
        )
    return replace(
        statement,
        timestamp=time,
        end=statement.end or given.end,
        type_by=statement.type_by or given.type_by,
        watermark=watermark,
    )


def _listed(names: tuple[str, ...]) -> str | None:
    return ", ".join(names) or None


def _watermark(statement: CreateStream, given: GivenStream) -> Window | None:
    """What the script declares, or else the caller; the two must not contradict each other."""
    declared = statement.watermark
    if given.watermark is None:
        return declared
    if declared is None:
        return replace(window_of_microseconds(given.watermark), span=statement.span)
    unit = statement.timestamp.unit if statement.timestamp else None
    with suppress(ValueError):  # the script's own mistake is reported with its place
        if watermark_delay(declared, unit or "MILLISECOND") != given.watermark:
            call = window_of_microseconds(given.watermark)
            raise CallError(
                f"stream {given.name}: the script says WATERMARK {declared}, the call says {call}"
            )
    return declared


def _stream(given: GivenStream, may_lack_times: bool = False) -> Stream:
    columns = with_texts(merged(given.open(True)), given.type_by)
    names = [column.name for column in columns]
    listed = f"columns: {', '.join(names)}"

    def column(name: str | None, role: str) -> str | None:
        found = None if name is None else find(name, names)
        if name is not None and found is None:
            raise CallError(f"stream {given.name}: no column {name}, given as the {role}; {listed}")
        return found

    start = column(given.timestamp or given.event_time, "timestamp") or _likely_start(columns, may_lack_times)
    if start is None and may_lack_times:
        return Stream(given.name, columns, "", unit=given.unit or "MILLISECOND")
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
        watermark=given.watermark,
        then_by=tuple(filter(None, (column(name, "order") for name in given.then_by))),
    )


def _likely_start(columns: Sequence[Column], may_lack_times: bool) -> str | None:
    """The column that is most likely the time. One that cannot be it is reported, if there must be one."""
    fitting = (column for column in columns if column.type == VOID or clock_of(column.type, "") is not None)
    return likely_timestamp(column.name for column in (fitting if may_lack_times else columns))


def _read_by(
    given: GivenStream, columns: Sequence[Column], names: Sequence[str | None]
) -> tuple[Column, ...]:
    """The columns, some of which a pattern makes TIMESTAMPs."""
    try:
        pattern_of(given.timestamp_format or "")
    except MalformedPattern as why:
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


def _given(name: str, given: Sequence[GivenStream]) -> GivenStream | None:
    return next((g for g in given if same(written(g.name), name)), None)


def read(inputs: Inputs, program: Program) -> tuple[dict[str, list[Row]], list[NeelError]]:
    """The rows of every stream the queries read, and what went wrong: one error for each file."""
    used = streams_read(program, range(len(program.queries)))
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
        return stream.own_columns
    kind = FormattedTimestamp(stream.timestamp_format)
    return tuple(replace(c, type=kind) if c.name in stream.texts else c for c in stream.own_columns)


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
    span = Findings(inputs.source).at(statement.name, statement) if statement else Span(0, 1)
    hint = f"write FROM 'path' in CREATE STREAM, or pass the data with --stream {name}=path"
    return NeelError([Diagnostic("NEEL5005", f"stream `{name}` has no data", span, hint)], inputs.source)


def location_of(inputs: Inputs, name: str) -> Location | None:
    """Where the data of a stream lie, if they lie in files."""
    outside = _given(written(name), inputs.given)
    if outside is not None:
        return outside.location
    statement = _statement(name, inputs.script)
    return declared_location(statement, inputs.source, inputs.directory) if statement else None


def declared_unit(inputs: Inputs, name: str) -> str | None:
    """The unit of a stream's times, if the script or the caller says it."""
    outside, statement = _given(written(name), inputs.given), _statement(name, inputs.script)
    time = None if statement is None else statement.timestamp
    return (time.unit if time else None) or (outside.unit if outside else None)


def _statement(name: str, script: Script) -> CreateStream | None:
    streams = (s for s in script.statements if isinstance(s, CreateStream))
    return next((s for s in streams if same(s.name, written(name))), None)


# Values as the text of a table's cell: what case files hold and `neelc run` prints.
#
# Cells stand two or more spaces apart. `null` is NULL; a string with spaces, or one that reads as something
# else, stands in 'quotes'; arrays are `[1, 2]`, structs `{id: 1, x: 2}`, maps `{k -> 1}`.

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "'": "''"}
_UNESCAPES = {"\\\\": "\\", "\\n": "\n", "\\r": "\r", "\\t": "\t", "''": "'"}
_QUOTED = re.compile(r"'((?:[^'\\]|''|\\.)*)'")
_PLAIN = re.compile(r"[^\s'#][^\s]*\Z")
_PLAIN_INSIDE = re.compile(r"[^\s'#,:\[\]{}>][^\s,:\[\]{}>]*\Z")
# A row that is only one of these words would begin a section of a case file.
_TAKEN = frozenset({"null", "query", "matches", "error", "events", "args"})


def quoted(text: str) -> str:
    r"""
    >>> print(quoted("it's\nso"))
    'it''s\nso'
    """
    return "'" + "".join(_ESCAPES.get(c, c) for c in text) + "'"


def unquoted(text: str) -> str:
    r"""
    >>> unquoted(quoted("a\\b 'c'\n"))
    "a\\b 'c'\n"
    """
    return re.sub(r"''|\\[\\nrt]", lambda found: _UNESCAPES[found[0]], text[1:-1])


def is_quoted(text: str) -> bool:
    """
    >>> is_quoted("'a b'"), is_quoted("'a' + 'b'"), is_quoted("ab")
    (True, False, False)
    """
    return _QUOTED.fullmatch(text) is not None


def render(value: object, type: DataType, inside: bool = False) -> str:
    """The cell of a value; `inside` an array, struct or map more strings need quotes.

    >>> from neelc.ir.types import DOUBLE, STRING
    >>> render(1.0, DOUBLE), render(None, DOUBLE), render("a b", STRING), render("a:b", STRING)
    ('1.0', 'null', "'a b'", 'a:b')
    >>> render(["a:b", "c"], Array(STRING))
    "['a:b', c]"
    """
    if value is None:
        return "null"
    match type, value:
        case Array(element), list() | tuple():
            return "[" + ", ".join(render(item, element, True) for item in value) + "]"
        case Map(of, to), dict():
            pairs = sorted((render(k, of, True), render(v, to, True)) for k, v in value.items())
            return "{" + ", ".join(f"{k} -> {v}" for k, v in pairs) + "}"
        case Struct(fields), dict():
            parts = ((bare(f.name), render(value.get(bare(f.name)), f.type, True)) for f in fields)
            return "{" + ", ".join(f"{name}: {text}" for name, text in parts) + "}"
        case _, str():
            plain = (_PLAIN_INSIDE if inside else _PLAIN).match(value) and value not in _TAKEN
            return value if plain else quoted(value)
    return scalar(value)


def render_name(name: str) -> str:
    """A column's name as a cell of the header: single spaces stay, for they do not end a cell.

    >>> render_name("sum(b[].price) + 1"), render_name("a  b")
    ('sum(b[].price) + 1', "'a  b'")
    """
    is_plain = re.fullmatch(r"\S+( \S+)*", name) and name[0] not in "'#" and name not in _TAKEN
    return name if is_plain else quoted(name)


def scalar(value: object) -> str:
    """The text of a value that is not nested, without quotes.

    >>> scalar(1e20), scalar(float("-inf")), scalar(True), scalar(decimal.Decimal("1E+2"))
    ('1e+20', '-Infinity', 'true', '100')
    >>> scalar(datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.timezone.utc))
    '2024-05-01 10:00:00'
    >>> scalar(datetime.timedelta(seconds=90))
    "INTERVAL '0 00:01:30' DAY TO SECOND"
    """
    match value:
        case bool():
            return "true" if value else "false"
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float():
            return repr(value)
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime():
            return timestamp_text(value)
        case datetime.date():
            return value.isoformat()
        case datetime.timedelta():
            return day_interval_text(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
    return str(value)


def parse(text: str, type: DataType) -> object:
    """The value of a cell: the inverse of `render`.

    >>> from neelc.ir.types import BIGINT, STRING, StructField
    >>> type = Struct((StructField("x", Array(BIGINT)), StructField("y", STRING)))
    >>> parse("{x: [1, null], y: 'a, b'}", type)
    {'x': [1, None], 'y': 'a, b'}
    """
    value, end = _value(text, 0, type, "")
    if text[end:].strip():
        raise TypeMismatch
    return value


def _value(text: str, at: int, type: DataType, stops: str) -> tuple[object, int]:
    """The value that begins at `at`, and where it ends; a plain one ends before one of `stops`."""
    match type:
        case Array(element) if text.startswith("[", at):
            return _items(text, at + 1, element)
        case Map(of, to) if text.startswith("{", at):
            return _pairs(text, at + 1, of, to)
        case Struct() if text.startswith("{", at):
            return _fields(text, at + 1, type)
    found = _QUOTED.match(text, at)
    if found:
        return from_text(unquoted(found[0]), type), found.end()
    end = at
    while end < len(text) and text[end] not in stops and not (stops and text.startswith(" -> ", end)):
        end += 1
    plain = text[at:end].strip()
    if plain == "null":
        return None, end
    if type == SimpleType("BINARY"):
        return _binary(plain), end
    return from_text(plain, type), end


def _binary(text: str) -> bytes:
    found = re.fullmatch(r"[xX]'((?:[0-9a-fA-F]{2})*)'", text)
    return bytes.fromhex(found[1]) if found else text.encode()


def _after(text: str, at: int, mark: str) -> int:
    """The place after `mark` and the spaces around it."""
    at += len(text[at:]) - len(text[at:].lstrip())
    if not text.startswith(mark, at):
        raise TypeMismatch
    at += len(mark)
    return at + len(text[at:]) - len(text[at:].lstrip())


def _starts(text: str, at: int, mark: str) -> bool:
    return text[at:].lstrip().startswith(mark)


def _items(text: str, at: int, element: DataType) -> tuple[list[object], int]:
    items: list[object] = []
    while not _starts(text, at, "]"):
        at = _after(text, at, "," if items else "")
        item, at = _value(text, at, element, ",]")
        items.append(item)
    return items, _after(text, at, "]")


def _pairs(text: str, at: int, of: DataType, to: DataType) -> tuple[dict[object, object], int]:
    pairs: dict[object, object] = {}
    while not _starts(text, at, "}"):
        at = _after(text, at, "," if pairs else "")
        key, at = _value(text, at, of, "}")
        value, at = _value(text, _after(text, at, "->"), to, ",}")
        pairs[key] = value
    return pairs, _after(text, at, "}")


def _fields(text: str, at: int, type: Struct) -> tuple[dict[str, object], int]:
    types = {bare(field.name): field.type for field in type.fields}
    fields: dict[str, object] = {}
    while not _starts(text, at, "}"):
        at = _after(text, at, "," if fields else "")
        colon = text.find(":", at)
        name = text[at:colon].strip()
        if colon < 0 or name not in types:
            raise TypeMismatch
        fields[name], at = _value(text, _after(text, colon, ":"), types[name], ",}")
    return {name: fields.get(name) for name in types}, _after(text, at, "}")


# Tables as lines of text: cells that stand two or more spaces, or a tab, apart.

# A quote opens a string where a value can begin, so that O'Neil is a plain cell.
_CELL = re.compile(r"(?! )(?:(?<![^\s\[{(,])'(?:[^'\\]|''|\\.)*'|[^\s]|[ ](?![ \t]|$))+(?<! )")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell.

    >>> aligned([["a", "last_b"], ["10", "3"]])
    ['a   last_b', '10  3']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def split(line: str) -> list[tuple[int, str]]:
    """The cells of a line with the place each begins at.

    >>> split("1   'a  b'  [x, 'y  z']")
    [(0, '1'), (4, "'a  b'"), (12, "[x, 'y  z']")]
    """
    return [(found.start(), found[0]) for found in _CELL.finditer(line)]


# An order for rows that have none, so that the same result is always printed as the same text.

Values = tuple[object, ...]


def in_order(rows: Iterable[Values]) -> list[Values]:
    """The rows by their values, from the left: NULL first, numbers by size.

    >>> in_order([(10, "b"), (9, "c"), (None, "a"), (9, "a")])
    [(None, 'a'), (9, 'a'), (9, 'c'), (10, 'b')]
    """
    return sorted(rows, key=lambda row: [_order(value) for value in row])


def _order(value: object) -> tuple[object, ...]:
    """A key that orders the values of a column: NULL first, numbers by size."""
    match value:
        case None:
            return (0,)
        case float() if math.isnan(value):
            return (2,)
        case dict():
            return (3, *(_order(inner) for inner in value.values()))
        case list() | tuple():
            return (3, *(_order(inner) for inner in value))
    return (1, value)
