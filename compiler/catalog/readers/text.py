"""CSV files, as Spark reads them: an empty field is NULL, a quoted empty one an empty string.

Unlike Spark's reader this one matches the header's names with the stream's columns, and takes no line with
too few or too many fields: a shifted column must not pass as data.
"""

from __future__ import annotations

import decimal
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from neelc.catalog.readers.table import (
    Table,
    first_line,
    from_text,
    from_value,
    position,
    type_of_texts,
    type_of_values,
)
from neelc.errors import Diagnostic, NeelError
from neelc.ir.program import Column
from neelc.ir.types import STRING, DataType
from neelc.source import Source, Span

CSV_OPTIONS = ("header", "delimiter", "sep", "quote", "nullValue")


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
