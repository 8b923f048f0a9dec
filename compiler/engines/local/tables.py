"""Rows for DuckDB: what it scans, and Spark's types of the columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neelc.engines.local.program import Types
from neelc.engines.spark.relations import Read
from neelc.errors import Diagnostic, NeelError
from neelc.source import Source, Span

MANY_ROWS = 500_000
"""From so many rows on, kernels run in several processes: below, starting them takes longer."""

MANY_BYTES = 16 * 2**20
"""The same for files of texts, of which only the size is known."""


@dataclass(frozen=True)
class LocalTable:
    """The rows of a stream and the types of its columns. `data` is what DuckDB can scan, with the types that
    DuckDB has for these, or a `DataScan`; of files, `read` says how they are read. `is_large`: there are many
    rows, or may be."""

    data: Any
    types: Types
    is_large: bool = False
    read: Read | None = None


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
            connection.create_function(
                one.name, one.function, [one.operand], one.type, type="arrow", null_handling="special"
            )


def refusal(code: str, message: str, hint: str | None = None) -> NeelError:
    """What is wrong with data: it stands in no text that could be shown."""
    return NeelError([Diagnostic(code, message, Span(0, 1), hint)], Source("", "data"))
