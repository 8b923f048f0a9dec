"""Results as text: aligned tables, CSV, JSON lines."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from neelc.catalog import inputs as cells
from neelc.catalog.inputs import aligned, in_order
from neelc.ir.names import bare
from neelc.ir.program import Column
from neelc.ir.types import Array, DataType, Map, SimpleType, Struct
from neelc.runtime.reference import Result
from neelc.runtime.values.times import UTC, session_zone, zoned


def written(results: Sequence[tuple[str | None, Result]], kind: str) -> str:
    """The results in one of the formats; several get their names as titles."""
    texts = [TEXT_FORMATS[kind](result) for _, result in results]
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"{name or 'query'}:\n{text}" for (name, _), text in zip(results, texts, strict=True))


def shown_rows(result: Result) -> list[tuple[object, ...]]:
    """The rows as texts have them: in the query's order, or in one that depends on their values only."""
    return result.rows if result.is_ordered else in_order(result.rows)


def as_table(result: Result) -> str:
    """Columns side by side, as in case files."""
    header = [cells.render_name(column.name) for column in result.columns]
    types = [column.type for column in result.columns]
    rows = [[cells.render(v, t) for v, t in zip(row, types, strict=True)] for row in shown_rows(result)]
    return "".join(f"{line}\n" for line in aligned([header, *rows]))


def as_csv(result: Result) -> str:
    """Comma-separated, as Spark does: NULL is empty, an empty string is quoted; nested values are JSON."""
    return "".join(csv_lines(result.columns, shown_rows(result)))


def csv_lines(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield ",".join(csv_text(column.name) for column in columns) + "\n"
    types = [column.type for column in columns]
    for row in rows:
        yield ",".join(csv_field(v, t) for v, t in zip(row, types, strict=True)) + "\n"


def csv_field(value: object, type: DataType) -> str:
    """A value as a field of CSV."""
    if value is None:
        return ""
    if isinstance(type, Array | Map | Struct):
        return csv_text(json_text(value, type))
    return csv_text(value if isinstance(value, str) else cells.scalar(value) + _offset(value))


def _offset(value: object) -> str:
    """What makes the text of an instant one that everybody reads alike; in UTC, it is left out."""
    if not isinstance(value, datetime.datetime) or value.tzinfo is None or session_zone() is UTC:
        return ""
    return zoned(value).isoformat()[-6:]


_SPECIAL = re.compile('[,"\r\n]')


def csv_text(text: str) -> str:
    """A text as a field of CSV, in quotes if it needs them."""
    needs_quotes = not text or text != text.strip() or _SPECIAL.search(text) is not None
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text


def as_json(result: Result) -> str:
    """One object for each row."""
    return "".join(json_lines(result.columns, shown_rows(result)))


def json_lines(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    names = [json_string(column.name) for column in columns]
    types = [column.type for column in columns]
    for row in rows:
        fields = zip(names, row, types, strict=True)
        yield "{" + ", ".join(f"{name}: {json_text(value, type)}" for name, value, type in fields) + "}\n"


def json_text(value: object, type: DataType) -> str:
    """A value as JSON; decimals keep their digits, NaN and the infinities are strings.

    >>> from neelc.ir.types import BIGINT, Decimal
    >>> json_text([1, None], Array(BIGINT)), json_text(decimal.Decimal("1.50"), Decimal(3, 2))
    ('[1, null]', '1.50')
    """
    match type, value:
        case _, None:
            return "null"
        case SimpleType("VARIANT"), str():  # which is JSON already
            return value
        case Array(element), list() | tuple():
            return "[" + ", ".join(json_text(item, element) for item in value) + "]"
        case Map(of, to), dict():
            pairs = (f"{_json_key(k, of)}: {json_text(v, to)}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        case Struct(fields), dict():
            names = ((bare(field.name), field.type) for field in fields)
            parts = (f"{json_string(name)}: {json_text(value.get(name), kind)}" for name, kind in names)
            return "{" + ", ".join(parts) + "}"
        case _, bool() | int() | decimal.Decimal():
            return cells.scalar(value)
        case _, float() if math.isfinite(value):
            return cells.scalar(value)
        case _, str():
            return json_string(value)
        case _, datetime.datetime():
            shown = zoned(value) if value.tzinfo else value
            return json_string(shown.isoformat().replace("+00:00", "Z"))
        case _, float() | datetime.date() | datetime.timedelta():
            return json_string(cells.scalar(value))
        case _, bytes():
            return json_string(value.hex().upper())
    return json_string(str(value))


def _json_key(value: object, type: DataType) -> str:
    text = json_text(value, type)
    return text if text.startswith('"') else json_string(text)


def json_string(text: str) -> str:
    """A text as JSON."""
    return json.dumps(text, ensure_ascii=False)


TEXT_FORMATS: dict[str, Callable[[Result], str]] = {"table": as_table, "csv": as_csv, "json": as_json}

LINES: dict[str, Callable[[Sequence[Column], Iterable[Sequence[object]]], Iterator[str]]] = {
    "csv": csv_lines,
    "json": json_lines,
}
"""The formats that can be written row by row."""
