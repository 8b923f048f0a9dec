"""The `events` section of a case: a stream written as a table.

    events NAME [timestamp COL] [end COL] [latest COL] [type COL|none] [unit UNIT]

If the query has no CREATE STREAM of that name, the first column is the timestamp and the next one that has no
other role is the type column, unless the options say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neelc import parse
from neelc.cases.problem import CaseError
from neelc.data.cells import is_quoted
from neelc.data.cells import parse as parse_cell
from neelc.data.delimited import Cell, CellTable
from neelc.data.inputs import UNITS, Given, unit_of
from neelc.data.layout import split
from neelc.data.table import Table, position
from neelc.errors import NeelError
from neelc.ir.expr import Cast
from neelc.ir.names import find, written
from neelc.ir.script import CreateStream, Script
from neelc.ir.types import DataType
from neelc.source import Source

OPTIONS = ("timestamp", "end", "latest", "type", "unit")


@dataclass(frozen=True)
class Events:
    """A stream of a case."""

    name: str
    options: dict[str, str]
    table: CellTable
    line: int

    def given(self, script: Script, backwards: bool = False) -> Given:
        """The stream as the binder is given it; the order of its rows must not matter."""
        declared = [s.name for s in script.statements if isinstance(s, CreateStream)]
        options = self.options if find(written(self.name), declared) else self._with_defaults()
        kind = options.get("type")
        return Given(
            self.name,
            lambda schema_only: [_reversed(self.table) if backwards else self.table],
            timestamp=options.get("timestamp"),
            latest=options.get("latest"),
            end=options.get("end"),
            type_by=None if kind == "none" else kind,
            unit=options.get("unit"),
        )

    def _with_defaults(self) -> dict[str, str]:
        names = list(self.table.names)
        options = {"timestamp": names[0], **self.options}
        used = [position(options[role], names) for role in ("timestamp", "end", "latest") if role in options]
        free = [name for at, name in enumerate(names) if at not in used]
        return {"type": free[0] if free else "none", **options}


def _reversed(table: CellTable) -> Table:
    return CellTable(table.source, table.names, table.records[::-1], table.convert, declared=table.declared)


def events_of(head: str, body: Sequence[str], line: int, path: Path) -> Events:
    """The stream of a section."""
    _, name, *words = head.split()
    options = dict(zip(words[::2], words[1::2], strict=False))
    for word in words[::2]:
        if word not in OPTIONS or len(words) % 2:
            message = f"expected `events NAME` and options: {', '.join(OPTIONS)}, each with a word after it"
            raise CaseError(path, line, message)
    if "unit" in options:
        unit = unit_of(options["unit"])
        if unit is None:
            raise CaseError(path, line, f"`{options['unit']}` is not a unit; units: {', '.join(UNITS)}")
        options["unit"] = unit
    table = _table(name, body, line, path)
    for role in ("timestamp", "end", "latest", "type"):
        column = options.get(role, "none")
        if column != "none" and position(column, table.names) is None:
            raise CaseError(path, line, f"no column `{column}`; columns: {', '.join(table.names)}")
    return Events(name, options, table, line)


@dataclass
class _Lines:
    """The text that diagnostics about values point into: the table's lines, header first."""

    text: str = ""
    rows: list[tuple[int, list[Cell]]] = field(default_factory=list)

    def add(self, line: str, number: int) -> None:
        start = len(self.text)
        self.rows.append((number, [_cell(text, start + at) for at, text in split(line)]))
        self.text += line + "\n"


def _cell(text: str, start: int) -> Cell:
    return Cell(None if text == "null" else text, start, start + len(text), is_quoted(text))


def _table(name: str, body: Sequence[str], line: int, path: Path) -> CellTable:
    lines = _Lines()
    for number, text in enumerate(body, line + 1):
        if text.strip() and not text.startswith("#"):
            lines.add(text.rstrip(), number)
    if not lines.rows:
        raise CaseError(path, line, "the section has no header row: the names of the columns")
    (header_line, header), *rows = lines.rows
    names, declared = [], {}
    for cell in header:
        column, colon, kind = (cell.text or "null").partition(":")
        names.append(column)
        if colon:
            declared[column] = _type(kind, header_line, path)
    for number, cells in rows:
        if len(cells) != len(names):
            raise CaseError(path, number, f"cells in this row: {len(cells)}, in the header: {len(names)}")
    source = Source(lines.text, f"events {name}")
    return CellTable(source, names, [cells for _, cells in rows], parse_cell, declared=declared)


def _type(text: str, line: int, path: Path) -> DataType:
    try:
        found = parse.expression(f"CAST(x AS {text})")
    except NeelError:
        found = None
    if not isinstance(found, Cast):
        raise CaseError(path, line, f"`{text}` is not a type")
    return found.type
