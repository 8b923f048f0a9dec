"""CSV files, as Spark reads them: an empty field is NULL, a quoted empty one an empty string.

Unlike Spark's reader this one matches the header's names with the stream's columns, and takes no line with
too few or too many fields: a shifted column must not pass as data.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import difflib
import json
import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from neelc.errors import Diagnostic, NeelError
from neelc.ir.names import bare, written
from neelc.ir.program import Column
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Array,
    DataType,
    Decimal,
    FormattedTimestamp,
    Map,
    SimpleType,
    Struct,
    StructField,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.datetime_patterns import EXAMPLE, timestamp_by
from neelc.runtime.values.functions import FUNCTIONS
from neelc.runtime.values.times import (
    UTC,
    date_of,
    instant,
    interval_of,
    midnight,
    timestamp_ntz_of,
    timestamp_of,
)
from neelc.scalar.operators import common, is_number
from neelc.source import Source, Span

# A table as a reader leaves it: rows of raw values, each with its place in the file.

# From what a file holds to a value of a Spark type.
#
# Integers, DOUBLE and so on are Python's; TIMESTAMP is an aware datetime in UTC, TIMESTAMP_NTZ a naive one;
# a struct is a dict. A text without a time zone is read in that of the session, and so is a date or a time
# without one in a column that holds a TIMESTAMP.


class TypeMismatch(ValueError):
    """A value that its column's type cannot hold."""


INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
INTEGER = re.compile(r"[+-]?[0-9]{1,40}\Z")  # int() refuses texts of thousands of digits
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
WORDS_OF_DOUBLE = {
    "nan": float("nan"),
    "inf": float("inf"),
    "infinity": float("inf"),
    "+inf": float("inf"),
    "+infinity": float("inf"),
    "-inf": float("-inf"),
    "-infinity": float("-inf"),
}


def from_text(text: str, type: DataType) -> object:
    """The value of a plain text.

    >>> from neelc.ir.types import BIGINT, DATE, DOUBLE, TIMESTAMP
    >>> from_text("42", BIGINT), from_text("42", DOUBLE), from_text("2024-05-01", DATE)
    (42, 42.0, datetime.date(2024, 5, 1))
    >>> print(from_text("2024-05-01T10:00:00+02:00", TIMESTAMP))
    2024-05-01 08:00:00+00:00
    >>> from_text("4.2", BIGINT)
    Traceback (most recent call last):
    neelc.catalog.readers.text.TypeMismatch
    """
    match type:
        case Decimal(precision, scale):
            return _decimal(text.strip(), precision, scale)
        case SimpleType("STRING" | "GEOMETRY"):
            return text
        case FormattedTimestamp(pattern):
            return _found(timestamp_by(pattern, text))
        case SimpleType("BINARY"):
            return text.encode()
        case SimpleType(name) if name in INTEGER_BITS and INTEGER.match(text.strip()):
            return _in_range(int(text), name)
        case SimpleType(name) if name in _SCALARS:
            return _SCALARS[name](text.strip())
        case Array() | Map() | Struct():
            try:
                return from_value(json.loads(text, parse_float=decimal.Decimal), type)
            except (json.JSONDecodeError, RecursionError):
                raise TypeMismatch from None
    raise TypeMismatch


def from_value(value: object, type: DataType) -> object:
    """The value of what a JSON or Parquet reader gives.

    >>> from neelc.ir.types import BIGINT, DOUBLE, STRING, Array, Struct, StructField
    >>> from_value({"x": 1, "Y": [2]}, Struct((StructField("x", STRING), StructField("y", Array(DOUBLE)))))
    {'x': '1', 'y': [2.0]}
    """
    if value is None:
        return None
    match type, value:
        case Array(element), list() | tuple():
            return [from_value(item, element) for item in value]
        case Map(), dict():
            return _map(value.items(), type)
        case Map(), list() if all(isinstance(pair, tuple) for pair in value):  # as Parquet's readers give it
            return _map(value, type)
        case Struct(fields), dict():
            given = {key.casefold(): item for key, item in value.items()}
            return {bare(f.name): from_value(given.get(bare(f.name).casefold()), f.type) for f in fields}
        case ((Array() | Map() | Struct()), _):
            raise TypeMismatch
        case SimpleType("BINARY"), str():
            try:
                return base64.b64decode(value, validate=True)
            except ValueError:
                raise TypeMismatch from None
        case _, str():
            return from_text(value, type)
    return _from_scalar(value, type)


def _map(pairs: Iterable[tuple[object, object]], type: Map) -> dict[object, object]:
    try:
        return {from_value(key, type.key): from_value(value, type.value) for key, value in pairs}
    except TypeError:  # Python has no lists and no structs as keys
        raise TypeMismatch from None


def _from_scalar(value: object, type: DataType) -> object:
    match type, value:
        case SimpleType("GEOMETRY"), bytes():
            return FUNCTIONS["st_geomfromwkb"](value)
        case SimpleType("STRING" | "GEOMETRY"), _:
            return as_string(value)
        case FormattedTimestamp(), int():
            return from_text(str(value), type)
        case FormattedTimestamp(), datetime.datetime():
            return _zoned(value)
        case (SimpleType("BOOLEAN"), bool()) | (SimpleType("BINARY"), bytes()):
            return value
        case SimpleType("INTERVAL DAY TO SECOND"), datetime.timedelta():
            return value
        case SimpleType("TIMESTAMP"), datetime.datetime():
            return _zoned(value)
        case SimpleType("TIMESTAMP_NTZ"), datetime.datetime() if value.tzinfo is None:
            return value
        case SimpleType("TIMESTAMP"), datetime.date() if not isinstance(value, datetime.datetime):
            return midnight(value)
        case SimpleType("DATE"), datetime.date() if not isinstance(value, datetime.datetime):
            return value
        case _, bool():
            raise TypeMismatch
        case ((Decimal() | SimpleType("FLOAT" | "DOUBLE")), int() | float() | decimal.Decimal()):
            return from_text(str(value), type)
        case SimpleType(name), int() if name in INTEGER_BITS:
            return _in_range(value, name)
    raise TypeMismatch


def as_string(value: object) -> str:
    """Spark's text of a value that is read as a STRING."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict() | list() | tuple():
            return json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def _in_range(value: int, name: str) -> int:
    limit = 1 << (INTEGER_BITS[name] - 1)
    if not -limit <= value < limit:
        raise TypeMismatch
    return value


def _decimal(text: str, precision: int, scale: int) -> decimal.Decimal:
    if not NUMBER.match(text):
        raise TypeMismatch
    with decimal.localcontext() as context:
        context.prec = 80  # twice what DECIMAL(38, 38) can hold, so that only the quantize rounds
        try:
            value = decimal.Decimal(text).quantize(decimal.Decimal(1).scaleb(-scale), decimal.ROUND_HALF_UP)
        except decimal.InvalidOperation:
            raise TypeMismatch from None
    if value.adjusted() >= precision - scale and value:
        raise TypeMismatch
    return value


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise TypeMismatch
    return text.lower() == "true"


def _double(text: str) -> float:
    if text.lower() in WORDS_OF_DOUBLE:
        return WORDS_OF_DOUBLE[text.lower()]
    if not NUMBER.match(text):
        raise TypeMismatch
    return float(text)


def _float(text: str) -> float:
    value = _double(text)
    try:
        (single,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return float(single)


def _zoned(value: datetime.datetime) -> datetime.datetime:
    try:
        return instant(value) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:  # the first or last day that Python can count, in another zone
        raise TypeMismatch from None


def _interval(text: str, months: bool) -> object:
    try:
        return interval_of(text, months)
    except ValueError:
        raise TypeMismatch from None


def _found(value: object | None) -> object:
    if value is None:
        raise TypeMismatch
    return value


_SCALARS: Mapping[str, Callable[[str], object]] = {
    "BOOLEAN": _boolean,
    "FLOAT": _float,
    "DOUBLE": _double,
    "DATE": lambda text: _found(date_of(text)),
    "TIMESTAMP": lambda text: _found(timestamp_of(text)),
    "TIMESTAMP_NTZ": lambda text: _found(timestamp_ntz_of(text)),
    "INTERVAL DAY TO SECOND": lambda text: _interval(text, False),
    "INTERVAL YEAR TO MONTH": lambda text: _interval(text, True),
}

Row = Mapping[str, object]

# A file of the wrong kind has as many mistakes as values: more than these say nothing new.
MISTAKES_SHOWN = 5


class MismatchedCell(NamedTuple):
    """A value that does not fit its column, by row and by the column's position in the file."""

    row: int
    at: int
    column: Column


class Table(ABC):
    """Rows of raw values under names. `source` is the text that places are counted in."""

    source: Source
    names: Sequence[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def raw(self, row: int, column: int) -> object | None:
        """What the file holds; None is NULL."""

    @abstractmethod
    def place(self, row: int, column: int) -> Span:
        """Where that stands in `source`."""

    @abstractmethod
    def value(self, raw: object, type: DataType) -> object:
        """`raw` as a value of the type, or `Misfit`."""

    @abstractmethod
    def inferred(self, column: int) -> DataType:
        """The type of a column that nobody declared."""

    def columns(self) -> tuple[Column, ...]:
        """The columns with the types their values have."""
        return tuple(Column(name, self.inferred(index)) for index, name in enumerate(self.names))

    def positions(self, columns: Sequence[Column]) -> list[int | None]:
        """Where each of the columns stands in the file; None where every value is NULL."""
        found = [position(column.name, self.names) for column in columns]
        missing = [column.name for column, at in zip(columns, found, strict=True) if at is None]
        if missing:
            raise NeelError((_missing(name, self.names, self.source) for name in missing), self.source)
        return found

    def rows(self, columns: Sequence[Column]) -> list[Row]:
        """All rows with these columns, or `NeelError` with the values that do not fit."""
        positions = list(zip(columns, self.positions(columns), strict=True))
        misfits: list[MismatchedCell] = []
        rows: list[Row] = []
        for number in range(len(self)):
            row: dict[str, object] = {}
            for column, at in positions:
                raw = None if at is None else self.raw(number, at)
                try:
                    row[column.name] = None if raw is None else self.value(raw, column.type)
                except TypeMismatch:
                    misfits.append(MismatchedCell(number, at or 0, column))
            rows.append(row)
        if misfits:
            raise self._error(misfits)
        return rows

    def excerpt(self, misfits: Sequence[MismatchedCell]) -> tuple[Source, list[Span]]:
        """The text to show, and the place of each misfit in it."""
        return self.source, [self.place(misfit.row, misfit.at) for misfit in misfits]

    def _error(self, misfits: Sequence[MismatchedCell]) -> NeelError:
        shown = misfits[:MISTAKES_SHOWN]
        source, places = self.excerpt(shown)
        complaints = []
        for number, (misfit, place) in enumerate(zip(shown, places, strict=True), 1):
            more = len(misfits) - number if number == MISTAKES_SHOWN else 0
            hint = f"{more} more {'value does' if more == 1 else 'values do'} not fit" if more else None
            text = shortened(self.raw(misfit.row, misfit.at))
            message = f"`{text}` is not of type {misfit.column.type} (column `{misfit.column.name}`)"
            complaints.append(Diagnostic("NEEL5003", message, place, hint or _way_out(misfit.column.type)))
        return NeelError(complaints, source)


def _way_out(type: DataType) -> str | None:
    """How times are written, where a text is none."""
    if isinstance(type, FormattedTimestamp):
        return f"it is read by the FORMAT '{type.pattern}'"
    if type == TIMESTAMP:
        return f"if it is a time, say how it is written: TIMESTAMP BY ... FORMAT '{EXAMPLE}'"
    return None


def position(name: str, names: Sequence[str]) -> int | None:
    """Where `name` stands among the names: written exactly so, else whatever its case.

    >>> position("ID", ["x", "id", "ID"]), position("Id", ["x", "id"]), position("y", ["x"])
    (2, 1, None)
    """
    if name in names:
        return list(names).index(name)
    return next((at for at, other in enumerate(names) if other.casefold() == name.casefold()), None)


def _missing(name: str, names: Sequence[str], source: Source) -> Diagnostic:
    close = difflib.get_close_matches(name.casefold(), [n.casefold() for n in names], 1)
    found = next((n for n in names if close and n.casefold() == close[0]), None)
    hint = f"did you mean `{found}`?" if found else f"columns: {', '.join(names)}" if names else None
    return Diagnostic("NEEL5002", f"no column `{name}` in {source.name}", first_line(source), hint)


def first_line(source: Source) -> Span:
    """The place of complaints about a file as a whole."""
    return Span(0, max(1, len(source.line(1))))


def shortened(value: object, most: int = 40) -> str:
    """
    >>> shortened("x" * 50, 10)
    'xxxxxxx...'
    """
    text = str(value)
    return text if len(text) <= most else text[: most - 3] + "..."


# Types of columns that nobody declared, from the values they hold.

# The first type that holds every value is the column's. Patterns, because Spark also casts `2024` to a DATE.
_CANDIDATES = (
    (BIGINT, re.compile(r"[+-]?[0-9]+")),
    (DOUBLE, re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(Infinity|Inf)|NaN")),
    (BOOLEAN, re.compile(r"true|false", re.IGNORECASE)),
    (DATE, re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")),
    (TIMESTAMP, re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}.*)?")),
)


def type_of_texts(texts: Sequence[str]) -> DataType:
    """The type of a column of texts, NULLs left out.

    >>> [str(type_of_texts(t)) for t in (["1", "2"], ["1", "2.5"], ["true"], ["x"], [])]
    ['BIGINT', 'DOUBLE', 'BOOLEAN', 'STRING', 'VOID']
    """
    if not texts:
        return VOID
    fitting = (type for type, form in _CANDIDATES if all(_is_of(text, type, form) for text in texts))
    return next(fitting, STRING)


def _is_of(text: str, type: DataType, form: re.Pattern[str]) -> bool:
    if form.fullmatch(text.strip()) is None:
        return False
    try:
        from_text(text, type)
    except TypeMismatch:
        return False
    return True


def type_of_values(values: Iterable[object]) -> DataType:
    """The type of a column of JSON values, VOID if there is none.

    >>> str(type_of_values([{"x": 1}, {"x": 2.5, "y": "a"}, None]))
    'STRUCT<x: DOUBLE, y: STRING>'
    >>> str(type_of_values([1, "a"]))
    'STRING'
    """
    found: DataType = VOID
    for value in values:
        found = common_type(found, _type_of(value))
    return found


def _type_of(value: object) -> DataType:
    match value:
        case None:
            return VOID
        case bool():
            return BOOLEAN
        case int() if -(1 << 63) <= value < 1 << 63:
            return BIGINT
        case int() | float() | decimal.Decimal():
            return DOUBLE
        case str() if type_of_texts([value]) == TIMESTAMP:
            return TIMESTAMP
        case bytes():
            return BINARY
        case datetime.datetime():
            return TIMESTAMP_NTZ if value.tzinfo is None else TIMESTAMP
        case datetime.date():
            return DATE
        case list() | tuple():
            element: DataType = VOID
            for item in value:
                element = common_type(element, _type_of(item))
            return Array(element)
        case dict():
            return Struct(tuple(StructField(written(key), _type_of(item)) for key, item in value.items()))
    return STRING


def common_type(left: DataType, right: DataType) -> DataType:
    """The type that holds the values of both; STRING holds everything.

    >>> from neelc.ir.types import INT
    >>> str(common_type(BIGINT, DOUBLE)), str(common_type(INT, BIGINT)), str(common_type(BIGINT, DATE))
    ('DOUBLE', 'BIGINT', 'STRING')
    """
    match left, right:
        case _ if left == right or right == VOID:
            return left
        case _ if left == VOID:
            return right
        case Array(a), Array(b):
            return Array(common_type(a, b))
        case Struct(some), Struct(others):
            types = {field.name: field.type for field in some}
            for field in others:
                types[field.name] = common_type(types.get(field.name, VOID), field.type)
            return Struct(tuple(StructField(name, type) for name, type in types.items()))
    return (common(left, right) if is_number(left) and is_number(right) else None) or STRING


def settled(type: DataType) -> DataType:
    """Inside of a type, STRING where no value was seen."""
    match type:
        case Array(element):
            return Array(STRING if element == VOID else settled(element))
        case Struct(fields):
            known = (StructField(f.name, STRING if f.type == VOID else settled(f.type)) for f in fields)
            return Struct(tuple(known))
    return type


TIMESTAMP_NAMES = ("ts", "timestamp", "time")


def likely_timestamp(names: Iterable[str]) -> str | None:
    """The column that holds the time when none is declared: one called ts, timestamp or time.

    >>> likely_timestamp(["price", "Time", "ts"]), likely_timestamp(["t", "price"])
    ('ts', None)
    """
    by_name = {bare(name).casefold(): name for name in reversed(list(names))}
    return next((by_name[name] for name in TIMESTAMP_NAMES if name in by_name), None)


CSV_OPTIONS = ("header", "delimiter", "sep", "quote", "nullValue", "encoding")


class Cell(NamedTuple):
    """A field's text (None is NULL) and its place; `is_string` when its quotes say so."""

    text: str | None
    start: int
    end: int
    is_string: bool = False


@dataclass(frozen=True)
class CellTable(Table):
    """Rows of texts. Without a header, columns are taken by their position."""

    source: Source
    names: Sequence[str]
    records: Sequence[Sequence[Cell]]
    convert: Callable[[str, DataType], object] = from_text
    has_header: bool = True
    declared: Mapping[str, DataType] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.records)

    def raw(self, row: int, column: int) -> str | None:
        return self.records[row][column].text

    def place(self, row: int, column: int) -> Span:
        cell = self.records[row][column]
        return Span(cell.start, max(cell.end, cell.start + 1))

    def value(self, raw: object, type: DataType) -> object:
        return self.convert(str(raw), type)

    def inferred(self, column: int) -> DataType:
        if self.names[column] in self.declared:
            return self.declared[self.names[column]]
        cells = [record[column] for record in self.records if record[column].text is not None]
        if any(cell.is_string for cell in cells):
            return STRING
        return type_of_texts([cell.text for cell in cells if cell.text is not None])

    def positions(self, columns: Sequence[Column]) -> list[int | None]:
        if self.has_header:
            return super().positions(columns)
        if self.records and len(self.names) != len(columns):
            message = f"{len(self.names)} fields where the stream has {len(columns)} columns"
            raise NeelError([Diagnostic("NEEL5004", message, first_line(self.source))], self.source)
        return list(range(len(columns)))


def read_csv(source: Source, options: Mapping[str, str]) -> CellTable:
    r"""The table of a CSV text.

    >>> from neelc.ir.types import BIGINT
    >>> table = read_csv(Source('ts;name\n1;"a;b"\n2;\n'), {"delimiter": ";"})
    >>> table.rows([Column("ts", BIGINT), Column("name", STRING)])
    [{'ts': 1, 'name': 'a;b'}, {'ts': 2, 'name': None}]
    """
    delimiter = options.get("delimiter", options.get("sep", ",")).replace("\\t", "\t")
    records = _records(source, delimiter, options.get("quote", '"'), options.get("nullValue", ""))
    has_header = options.get("header", "true").lower() != "false"
    if has_header and not records:
        raise NeelError([Diagnostic("NEEL5004", "no header line", Span(0, 1))], source)
    first = records[0] if records else []
    names = [cell.text or "" for cell in first] if has_header else [f"_c{i}" for i in range(len(first))]
    _check_names(names, source)
    for record in records:
        if len(record) != len(names):
            message = f"{len(record)} fields where {len(names)} are expected"
            place = Span(record[0].start, max(record[-1].end, record[0].start + 1))
            raise NeelError([Diagnostic("NEEL5004", message, place)], source)
    return CellTable(source, names, records[1:] if has_header else records, has_header=has_header)


def _check_names(names: Sequence[str], source: Source) -> None:
    for index, name in enumerate(names):
        if not name or name in names[:index]:
            message = f"two columns are called `{name}`" if name else f"column {index + 1} has no name"
            raise NeelError([Diagnostic("NEEL5004", message, first_line(source))], source)


def _records(source: Source, delimiter: str, quote: str, null: str) -> list[list[Cell]]:
    """The fields of each line that is not empty."""
    mark, gap = re.escape(quote), re.escape(delimiter)
    quoted = rf"{mark}((?:[^{mark}]|{mark}{mark})*+){mark}(?={gap}|\r?\n|\r|\Z)|" if quote else "(?!)()|"
    field = re.compile(rf"(?:{quoted}((?:(?!{gap})[^\r\n])*))({gap}|\r?\n|\r|\Z)")
    records: list[list[Cell]] = []
    record: list[Cell] = []
    at, end = 0, len(source.text)
    while at < end or record:
        found = field.match(source.text, at)
        assert found is not None  # the plain field may be empty, and ends where the quoted one cannot
        inside, plain, stop = found.groups()
        if inside is None and quote and plain.startswith(quote):
            raise NeelError([Diagnostic("NEEL5004", "this quote is not closed", Span(at, at + 1))], source)
        text = plain if inside is None else inside.replace(quote * 2, quote)
        is_null = inside is None and text == null
        record.append(Cell(None if is_null else text, found.start(), found.start(3)))
        at = found.end()
        if stop != delimiter:
            if len(record) > 1 or not is_null:
                records.append(record)
            record = []
    return records


# JSON lines: one object on each line, as Spark's `json` reads them.

JSON_OPTIONS = ()


@dataclass(frozen=True)
class ObjectTable(Table):
    """Objects, each with the place of its line; a key that a line leaves out is NULL there."""

    source: Source
    names: Sequence[str]
    objects: Sequence[Mapping[str, object]]
    lines: Sequence[Span]

    def __len__(self) -> int:
        return len(self.objects)

    def raw(self, row: int, column: int) -> object | None:
        return self.objects[row].get(self.names[column])

    def place(self, row: int, column: int) -> Span:
        line = self.lines[row]
        key = json.dumps(self.names[column], ensure_ascii=False)
        at = self.source.text.find(key, line.start, line.end)
        return Span(at, at + len(key)) if at >= 0 else line

    def value(self, raw: object, type: DataType) -> object:
        return from_value(raw, type)

    def inferred(self, column: int) -> DataType:
        return type_of_values(item.get(self.names[column]) for item in self.objects)

    def positions(self, columns: Sequence[Column]) -> list[int | None]:
        # A key that no object has is not a mistake: writers of JSON leave out what is NULL.
        return [position(column.name, self.names) for column in columns]


def read_json(source: Source, options: Mapping[str, str]) -> ObjectTable:
    r"""The table of a text with one JSON object on each line.

    >>> from neelc.ir.types import BIGINT, STRING
    >>> table = read_json(Source('{"ts": 1, "name": "a"}\n{"ts": 2}\n'), {})
    >>> table.rows([Column("ts", BIGINT), Column("name", STRING)])
    [{'ts': 1, 'name': 'a'}, {'ts': 2, 'name': None}]
    """
    objects: list[Mapping[str, object]] = []
    lines: list[Span] = []
    start = 0
    for line in source.text.split("\n"):
        if line.strip():
            objects.append(_object(line, start, source))
            lines.append(Span(start, start + len(line.rstrip())))
        start += len(line) + 1
    names = dict.fromkeys(key for item in objects for key in item)
    return ObjectTable(source, tuple(names), objects, lines)


def _object(line: str, start: int, source: Source) -> Mapping[str, object]:
    try:
        value = json.loads(line, parse_float=decimal.Decimal)
    except json.JSONDecodeError as error:
        # Python's sentence begins with a capital letter; ours do not.
        message = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise NeelError([_malformed(message, start + error.pos)], source) from None
    except RecursionError:
        raise NeelError([_malformed("not JSON that can be read: nested too deeply", start)], source) from None
    except ValueError:  # Python reads integers of 4,300 digits
        message = "not JSON that can be read: a number of thousands of digits"
        raise NeelError([_malformed(message, start)], source) from None
    if not isinstance(value, dict):
        raise NeelError([_malformed("a line is not a JSON object", start)], source)
    return value


def _malformed(message: str, at: int) -> Diagnostic:
    hint = 'each line is one object: {"ts": 1, "price": 2.5}'
    return Diagnostic("NEEL5004", message, Span(at, at + 1), hint)
