"""Rows of the local engine as CSV or JSON: column by column, by Arrow where it writes as neelc does.

Whatever Arrow writes otherwise is written value by value, as small results are (`neelc.tools.result_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from neelc.engines.local.functions import reader_of, values_of
from neelc.ir.program import Column
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    DataType,
)
from neelc.runtime.values.times import UTC, session_zone
from neelc.tools.result_text import csv_field, csv_text, json_string, json_text

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = frozenset({TINYINT, SMALLINT, INT, BIGINT})
FIRST_YEAR, LAST_YEAR = 1, 9999
"""The years that Python has times of."""


def csv_lines(columns: Sequence[Column], batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """The rows as CSV, below the names of their columns."""
    yield ",".join(csv_text(column.name) for column in columns) + "\n"
    for batch in batches:
        cells = [_cells(batch.column(n), one.type, _CSV) for n, one in enumerate(columns)]
        yield from (",".join(row) + "\n" for row in _rows(cells, batch.num_rows))


def json_lines(columns: Sequence[Column], batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """The rows as JSON, one object in each line."""
    names = [f"{json_string(column.name)}: " for column in columns]
    for batch in batches:
        cells = [_cells(batch.column(n), one.type, _JSON) for n, one in enumerate(columns)]
        named = [[f"{name}{cell}" for cell in column] for name, column in zip(names, cells, strict=True)]
        yield from ("{" + ", ".join(row) + "}\n" for row in _rows(named, batch.num_rows))


LINES = {"csv": csv_lines, "json": json_lines}


def _rows(cells: Sequence[Sequence[str]], count: int) -> Iterable[tuple[str, ...]]:
    return zip(*cells, strict=True) if cells else ((),) * count


class _Format:
    """How one format writes what Arrow does not, NULL, texts, and times whose texts Arrow has made."""

    def __init__(
        self, value: Callable[[Any, DataType], str], null: str, text: Callable[[str], str], iso: bool
    ) -> None:
        self.value, self.null, self.text, self.iso = value, null, text, iso


_CSV = _Format(csv_field, "", csv_text, False)
_JSON = _Format(json_text, "null", json_string, True)


def _cells(column: Any, type: DataType, form: _Format) -> list[str]:
    """The texts of a column."""
    texts = _by_arrow(column, type, form)
    if texts is not None:
        return [form.null if text is None else text for text in texts]
    return [form.value(value, type) for value in values_of(column, reader_of(type))]


def _by_arrow(column: Any, type: DataType, form: _Format) -> list[str | None] | None:
    """The texts that Arrow makes of values; None if it writes them otherwise."""
    import pyarrow as pa

    if type in NUMBERS or type == BOOLEAN:
        found: list[str | None] = column.cast(pa.string()).to_pylist()
        return found
    if type == VARIANT:  # the text of which is JSON
        return [
            None if text is None else text if form.iso else form.text(text) for text in column.to_pylist()
        ]
    if type == STRING:
        return [None if text is None else form.text(text) for text in column.to_pylist()]
    if type == DATE and _is_common(column):
        return _quoted(column.cast(pa.string()), form)
    is_time = type == TIMESTAMP_NTZ or (type == TIMESTAMP and session_zone() is UTC)
    return _times(column, type, form) if is_time and _is_common(column) else None


def _is_common(column: Any) -> bool:
    """Whether Python has the years of all times."""
    import pyarrow.compute as pc

    years = pc.min_max(pc.year(column)).as_py()
    return years["min"] is None or FIRST_YEAR <= years["min"] <= years["max"] <= LAST_YEAR


def _times(column: Any, type: DataType, form: _Format) -> list[str | None]:
    """Times without the fraction of a second if there is none; in CSV, without its last zeros."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.cast(pa.timestamp("us")).cast(pa.string())
    if not form.iso:
        return _quoted(pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), "."), form)
    texts = pc.replace_substring(pc.replace_substring(texts, ".000000", ""), " ", "T")
    return _quoted(pc.binary_join_element_wise(texts, "Z", "") if type == TIMESTAMP else texts, form)


def _quoted(texts: Any, form: _Format) -> list[str | None]:
    found: list[str | None] = texts.to_pylist()
    return [None if text is None else f'"{text}"' for text in found] if form.iso else found
