"""What runs for a plan on DuckDB, as values: the steps of a program, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from neelc.ir.types import DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.duckdb.pieces import EvaluatedCall, quoted

Types = Mapping[str, DataType]
"""The columns of a relation and Spark's types of their values."""


@dataclass(frozen=True)
class StreamTable:
    """The rows of a stream."""

    name: str
    stream: str
    comment: str = ""


@dataclass(frozen=True)
class LocalView:
    """A query of DuckDB over earlier steps. Its rows are kept in a table if it `is_stored`."""

    name: str
    text: str
    comment: str = ""
    is_stored: bool = False

    @property
    def statement(self) -> str:
        """What makes it in a database."""
        return f"CREATE TEMP {'TABLE' if self.is_stored else 'VIEW'} {quoted(self.name)} AS\n{self.text}"


@dataclass(frozen=True)
class KernelRun:
    """A program of the runtime, with more `arguments`, that reads the rows of `source` in an `order`, a
    clause of DuckDB. Rows of equal `keys` belong together. It calls these users' `functions`; `zoned`: it is
    told the time zone."""

    name: str
    program: Any
    arguments: tuple[tuple[str, object], ...]
    source: str
    reads: Types
    gives: Types
    order: str = ""
    keys: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    zoned: bool = False
    comment: str = ""


@dataclass(frozen=True)
class UserCalls:
    """Users' functions of lists: the name of each, the column of its lists, that of its results, and their
    type as Spark writes it."""

    name: str
    source: str
    calls: tuple[tuple[str, str, str, str], ...]
    comment: str = ""


LocalStep = StreamTable | LocalView | KernelRun | UserCalls


@dataclass(frozen=True)
class LocalProgram:
    """The steps of a plan, the columns of each, the functions that their texts call, and the name of the step
    that has the result. `observed` are queries that count what observations of Spark's would. Of the
    functions, those of `scans` are for the texts of files alone, most of which DuckDB reads without them."""

    steps: tuple[LocalStep, ...]
    types: Mapping[str, Types]
    calls: tuple[EvaluatedCall, ...]
    result: str
    observed: Mapping[str, str] = field(default_factory=dict)
    scans: frozenset[str] = frozenset()

    @property
    def evaluated(self) -> tuple[EvaluatedCall, ...]:
        """What the runtime computes of the query itself."""
        return tuple(call for call in self.calls if call.name not in self.scans)

    @property
    def columns(self) -> Types:
        """Those of the result."""
        return self.types[self.result]
