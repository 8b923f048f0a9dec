"""A table as a reader leaves it: rows of raw values, each with its place in the file."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from neelc.data.values import Misfit
from neelc.errors import Diagnostic, NeelError
from neelc.ir.datetime_patterns import EXAMPLE
from neelc.ir.logical import Column
from neelc.ir.types import TIMESTAMP, DataType, Formatted
from neelc.source import Source, Span

Row = Mapping[str, object]

# A file of the wrong kind has as many mistakes as values: more than these tell nothing new.
MISTAKES_SHOWN = 5


class Misplaced(NamedTuple):
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
        misfits: list[Misplaced] = []
        rows: list[Row] = []
        for number in range(len(self)):
            row: dict[str, object] = {}
            for column, at in positions:
                raw = None if at is None else self.raw(number, at)
                try:
                    row[column.name] = None if raw is None else self.value(raw, column.type)
                except Misfit:
                    misfits.append(Misplaced(number, at or 0, column))
            rows.append(row)
        if misfits:
            raise self._error(misfits)
        return rows

    def excerpt(self, misfits: Sequence[Misplaced]) -> tuple[Source, list[Span]]:
        """The text to show, and the place of each misfit in it."""
        return self.source, [self.place(misfit.row, misfit.at) for misfit in misfits]

    def _error(self, misfits: Sequence[Misplaced]) -> NeelError:
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
    if isinstance(type, Formatted):
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
