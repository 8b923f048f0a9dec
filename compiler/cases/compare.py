"""Comparing what a case expects with what came out."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from neelc.cases.file import Matches
from neelc.data import cells
from neelc.data.layout import aligned
from neelc.data.order import in_order
from neelc.data.values import Misfit
from neelc.ir.logical import Column
from neelc.ir.types import DataType
from neelc.runtime.reference import Result
from neelc.runtime.reference.snapshots import differences, snapshots_equal

NO_MATCHES = "no matches"

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What a case expected and what came out, as text; `diff` is empty when it passed."""

    passed: bool
    expected: str
    actual: str
    diff: str


def compare(expected: Matches | str | None, actual: Result | str) -> Outcome:
    """`actual` is a result or the text of diagnostics. Rows are compared as a multiset: without order;
    those of a SELECT as snapshots."""
    wanted = _text(expected)
    if isinstance(actual, str):
        passed = actual == expected
        return Outcome(passed, wanted, actual, "" if passed else _line_diff(wanted, actual))
    rendered = rows_of(actual)
    found = "\n".join(aligned([names_of(actual), *rendered])) if rendered else NO_MATCHES
    if not isinstance(expected, Matches):
        return Outcome(False, wanted, found, _line_diff(wanted, found))
    rows = [_normal(row, actual.columns) for row in expected.rows]
    judge = _snapshot_diff if actual.has_valid_time else _row_diff
    diff = _header_diff(expected.header, actual.columns)
    diff = diff or ("" if rows == rendered else judge(names_of(actual), rows, rendered, actual))
    return Outcome(not diff, wanted, found, diff)


def _text(expected: Matches | str | None) -> str:
    match expected:
        case None:
            return "(the case says neither `matches` nor `error`)"
        case str():
            return expected
    return "\n".join(aligned([expected.header, *expected.rows])) if expected.header else NO_MATCHES


def names_of(result: Result) -> list[str]:
    """The header of a result."""
    return [cells.render_name(column.name) for column in result.columns]


def rows_of(result: Result) -> list[tuple[str, ...]]:
    """The rows as cells, in an order that depends on nothing but the values."""
    types = [column.type for column in result.columns]
    return [
        tuple(cells.render(v, t) for v, t in zip(row, types, strict=True)) for row in in_order(result.rows)
    ]


def _normal(row: Sequence[str], columns: Sequence[Column]) -> tuple[str, ...]:
    """The cells as this program would write them: `10` in a column of DOUBLE is `10.0`."""
    kinds = [column.type for column in columns] if len(row) == len(columns) else []
    return tuple(_normal_cell(text, kind) for text, kind in zip(row, kinds, strict=False))


def _normal_cell(text: str, type: DataType) -> str:
    try:
        return cells.render(cells.parse(text, type), type)
    except Misfit:
        return text


def _header_diff(header: Sequence[str], columns: Sequence[Column]) -> str:
    """The header and the result's columns, unless they agree; `name:TYPE` also asks for the type."""
    if not header:  # `matches none`
        return ""
    if len(header) == len(columns) and all(map(_fits, header, columns)):
        return ""
    has_types = any(f":{column.type}" in cell for cell in header for column in columns)
    found = (f"{c.name}:{c.type}" if has_types else c.name for c in columns)
    return f"columns differ:\n- {'  '.join(header)}\n+ {'  '.join(found)}"


def _fits(cell: str, column: Column) -> bool:
    return cell in (column.name, cells.render_name(column.name), f"{column.name}:{column.type}")


def _line_diff(expected: str, actual: str) -> str:
    lines = difflib.ndiff(expected.split("\n"), actual.split("\n"))
    return "\n".join(line.rstrip() for line in lines if not line.startswith("?"))


def _snapshot_diff(
    names: Sequence[str], expected: Sequence[Cells], actual: Sequence[Cells], result: Result
) -> str:
    """Rows that differ, if the two are not equal as snapshots."""
    try:
        rows = [_values(row, result.columns) for row in expected]
    except Misfit:
        return _row_diff(names, expected, actual, result)
    if snapshots_equal(rows, result.rows):
        return ""
    time, _, _ = next(differences(rows, result.rows))
    return f"the snapshots at {time} differ:\n{_row_diff(names, expected, actual, result)}"


def _values(row: Cells, columns: Sequence[Column]) -> tuple[object, ...]:
    return tuple(cells.parse(text, column.type) for text, column in zip(row, columns, strict=True))


def _row_diff(names: Sequence[str], expected: Sequence[Cells], actual: Sequence[Cells], _: Result) -> str:
    """Rows that are missing, after `-`, and rows that should not be, after `+`."""
    missing, extra = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
    if not missing and not extra:
        return ""
    rows = [*(("-", row) for row in missing.elements()), *(("+", row) for row in extra.elements())]
    lines = aligned([names, *(row for _, row in rows)])
    marks = [" ", *(mark for mark, _ in rows)]
    return "\n".join(f"{mark} {line}" for mark, line in zip(marks, lines, strict=True))
