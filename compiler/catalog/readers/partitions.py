"""The table of a file that lies in directories of partitions: their names have the values of more columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neelc.catalog.readers.text import MismatchedCell, Table, from_text, position
from neelc.ir.program import Column
from neelc.ir.types import DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span


class _PartitionText(str):
    """A value that the name of a directory has."""


@dataclass(frozen=True)
class PartitionTable(Table):
    """Rows of `table`, and behind its columns those of its partition, which go before columns of the file
    that have the same names."""

    table: Table
    values: Sequence[tuple[str, str | None]]
    types: Mapping[str, DataType]
    source: Source
    names: Sequence[str]

    @classmethod
    def of(
        cls, table: Table, values: Sequence[tuple[str, str | None]], types: Mapping[str, DataType]
    ) -> PartitionTable:
        names = (*table.names, *(name for name, _ in values))
        return cls(table, values, types, table.source, names)

    def __len__(self) -> int:
        return len(self.table)

    def raw(self, row: int, column: int) -> object | None:
        own = column - len(self.table.names)
        if own < 0:
            return self.table.raw(row, column)
        value = self.values[own][1]
        return None if value is None else _PartitionText(value)

    def place(self, row: int, column: int) -> Span:
        return self.table.place(row, column) if column < len(self.table.names) else Span(0, 1)

    def value(self, raw: object, type: DataType) -> object:
        return from_text(raw, type) if isinstance(raw, _PartitionText) else self.table.value(raw, type)

    def inferred(self, column: int) -> DataType:
        is_own = column >= len(self.table.names)
        return self.types[self.names[column]] if is_own else self.table.inferred(column)

    def columns(self) -> tuple[Column, ...]:
        beside = {name.casefold() for name, _ in self.values}
        return tuple(
            Column(name, self.inferred(at))
            for at, name in enumerate(self.names)
            if at >= len(self.table.names) or name.casefold() not in beside
        )

    def positions(self, columns: Sequence[Column]) -> list[int | None]:
        own = [name for name, _ in self.values]
        places = {column.name: position(column.name, own) for column in columns}
        others = [column for column in columns if places[column.name] is None]
        found = dict(zip((c.name for c in others), self.table.positions(others), strict=True))
        first = len(self.table.names)
        return [found[name] if place is None else first + place for name, place in places.items()]

    def excerpt(self, misfits: Sequence[MismatchedCell]) -> tuple[Source, list[Span]]:
        """The names of the directories, if one of them has a value that does not fit."""
        if all(misfit.at < len(self.table.names) for misfit in misfits):
            return self.table.excerpt(misfits)
        text = "/".join(f"{name}={value}" for name, value in self.values)
        places = (max(text.find(f"{self.names[misfit.at]}="), 0) for misfit in misfits)
        return Source(text, self.source.name), [Span(at, at + 1) for at in places]
