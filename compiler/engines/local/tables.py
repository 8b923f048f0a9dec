"""Rows for DuckDB: what it scans, and Spark's types of the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from neelc.catalog.location import Location
from neelc.engines.local.program import Types
from neelc.engines.spark.relations import Read
from neelc.runtime.late_dataclass import dataclass

MANY_ROWS = 2_000_000
"""From so many rows on, kernels run in several processes: below, starting them takes longer."""

MANY_BYTES = 64 * 2**20
"""The same for files of texts, of which only the size is known."""


@dataclass(frozen=True)
class DataSize:
    """How many files and bytes there are; `rows` if their footers say that."""

    files: int = 0
    bytes: int = 0
    rows: int | None = 0

    def __add__(self, other: DataSize) -> DataSize:
        """
        >>> DataSize(1, 2048, 10) + DataSize(1, 500, None)
        DataSize(files=2, bytes=2548, rows=None)
        """
        rows = None if self.rows is None or other.rows is None else self.rows + other.rows
        return DataSize(self.files + other.files, self.bytes + other.bytes, rows)

    def __str__(self) -> str:
        """
        >>> print(DataSize(1, 2548, None), DataSize(3, 7_000_000_000, 90_000_000), sep=" | ")
        1 file, 2.5 kB | 3 files, 7.0 GB, 90,000,000 rows
        >>> print(DataSize(rows=20))
        20 rows in memory
        """
        if not self.files and self.rows:
            return f"{self.rows:,} row{'' if self.rows == 1 else 's'} in memory"
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        return f"{self.files} file{'' if self.files == 1 else 's'}, {in_bytes(self.bytes)}{rows}"

    @property
    def is_large(self) -> bool:
        """Whether there are many rows, or may be."""
        return self.bytes >= MANY_BYTES if self.rows is None else self.rows >= MANY_ROWS


def in_bytes(count: int) -> str:
    """
    >>> in_bytes(999), in_bytes(2548), in_bytes(64 * 10**9)
    ('999 bytes', '2.5 kB', '64.0 GB')
    """
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**power:
            return f"{count / 1000**power:.1f} {unit}"
    return f"{count} byte{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class LocalTable:
    """The rows of a stream and the types of its columns. `data` is what DuckDB can scan, with the types that
    DuckDB has for these, or a `DataScan`; of files, `read` says how they are read, `size` how large they are,
    and `location` where their path is written."""

    data: Any
    types: Types
    size: DataSize = DataSize()
    read: Read | None = None
    location: Location | None = None


@dataclass(frozen=True)
class DuckFunction:
    """A function of Arrow arrays that a query calls: its name, and DuckDB's types of operand and result."""

    name: str
    function: Callable[..., Any]
    operand: str
    type: str


@dataclass(frozen=True)
class DataScan:
    """A query of DuckDB that reads data, the types of its columns, and what it needs in a connection: the
    `objects` that it names, and its functions."""

    text: str
    types: Types
    objects: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[DuckFunction, ...] = ()

    @property
    def is_portable(self) -> bool:
        """Whether another process can run the query, too."""
        return not self.objects and not self.functions

    def prepare(self, connection: Any) -> None:
        """Give a connection what the query needs."""
        for name, data in self.objects.items():
            connection.register(name, data)
        for one in self.functions:
            # Connections to one database have functions in common, and no two scans have one of one name.
            if not _knows(connection, one.name):
                connection.create_function(
                    one.name, one.function, [one.operand], one.type, type="arrow", null_handling="special"
                )


def _knows(connection: Any, function: str) -> bool:
    found = connection.execute("SELECT count(*) FROM duckdb_functions() WHERE function_name = ?", [function])
    return bool(found.fetchall()[0][0])


def is_worth_splitting(tables: Iterable[LocalTable]) -> bool:
    """Whether there is so much to read that other processes should help, which can read it: tables in memory
    would have to be written to a file for them first, which takes longer."""
    found = list(tables)
    are_portable = all(not isinstance(one.data, DataScan) or one.data.is_portable for one in found)
    return are_portable and any(one.size.is_large for one in found if one.size.files)
