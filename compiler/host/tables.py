"""What the names of tables stand for, and how Spark is asked for what only it knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from neelc.bind.catalog import clock_of
from neelc.emit.compiled import stream_read
from neelc.emit.relations import Read, Relations
from neelc.ir.logical import Column, Stream
from neelc.ir.names import find, written


@dataclass(frozen=True)
class Table:
    """A stream that a query may read by its bare name; `unit` is that of integer times."""

    name: str
    columns: tuple[Column, ...]
    read: Read
    unit: str = "MILLISECOND"


@dataclass(frozen=True)
class Described:
    """The columns of a relation, and those of types that neelc does not know: their names and types."""

    columns: tuple[Column, ...]
    others: tuple[tuple[str, str], ...] = ()


class Refused(Exception):
    """Spark does not understand a query; `fragment` is the part of its text that it points at."""

    def __init__(self, message: str, fragment: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fragment = fragment


Describe = Callable[[Relations], Described]
"""Asks Spark for the columns of the last of some relations, or raises `Refused`. Nothing is run."""

Tables = Mapping[str, Table]


def declared_tables(streams: Iterable[Stream]) -> dict[str, Table]:
    """The streams that a script declares."""
    return {
        stream.name: Table(stream.name, stream.columns, stream_read(stream), stream.unit)
        for stream in streams
    }


def known(name: str, tables: Tables) -> Table | None:
    """The table of a bare name.

    >>> table = Table("Trades", (), Read("Trades"))
    >>> known("trades", {"Trades": table}) is table, known("quotes", {"Trades": table})
    (True, None)
    """
    found = find(written(name), map(written, tables))
    return next((table for key, table in tables.items() if written(key) == found), None)


def can_be_time(column: Column) -> bool:
    """Whether WITHIN can measure the values of a column."""
    return clock_of(column.type, "MILLISECOND") is not None
