"""Expressions in DuckDB: each is spelled, many are computed in one query, and the values are those that the
reference interpreter has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
from expressions import COLUMNS, ROWS
from like_spark import same

from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.names import quote
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.evaluated import arrow_type, reader_of, register, values_of, writer_of
from neelc.scalar.duckdb.pieces import (
    DuckText,
    EvaluatedCall,
    NameScope,
    UnspelledOperation,
    as_column,
    duck_type,
)
from neelc.scalar.duckdb.spelling import spelled

WHOLE = t.Struct(tuple(t.StructField(quote(name), type) for name, type in COLUMNS.items()))
ZONES = ("UTC", "America/New_York")


@dataclass(frozen=True)
class DuckRows:
    """Rows for expressions to be computed of, in a session of a zone; columns are found by their types."""

    types: dict[str, t.DataType]
    rows: Sequence[dict[str, Any]]
    zone: str = "UTC"
    calls: dict[str, EvaluatedCall] = field(default_factory=dict)

    def spelled(self, text: str) -> DuckText:
        return spelled(text, NameScope({"": self.types}, calls=self.calls))

    def connection(self) -> Any:
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        connection.execute(f"SET TimeZone = '{self.zone}'")
        columns = {
            name: pa.array([_written(row[name], type) for row in self.rows], arrow_type(type))
            for name, type in self.types.items()
        }
        connection.register("events", pa.table(columns))
        register(connection, self.calls.values(), partial(in_zone, self.zone))
        return connection

    def values(self, pieces: Sequence[DuckText]) -> list[list[object]]:
        """The values of each piece in all rows; its type is that which DuckDB has for it."""
        connection = self.connection()
        items = ", ".join(f"{as_column(piece)} AS c{place}" for place, piece in enumerate(pieces))
        relation = connection.sql(f"SELECT {items} FROM events")
        for piece, type in zip(pieces, relation.types, strict=True):
            expected = connection.sql(f"SELECT CAST(NULL AS {duck_type(piece.type)})").types[0]
            assert type == expected, f"{piece.text} is {type}, not {expected}"
        found = relation.to_arrow_table()
        return [_read(found.column(place), piece.type) for place, piece in enumerate(pieces)]


def _written(value: Any, type: t.DataType) -> Any:
    return None if value is None else writer_of(type)(value)


def _read(column: Any, type: t.DataType) -> list[object]:
    return values_of(column, reader_of(type))


def events(zone: str) -> DuckRows:
    """The events of tests/expressions.py, each a struct `a`; `b` is the list of all of them."""
    rows = [{"a": row, "b": list(ROWS)} for row in ROWS]
    return DuckRows({"a": WHOLE, "b": t.Array(WHOLE)}, rows, zone)


@dataclass(frozen=True)
class ExpectedValues:
    """An expression of Spark's SQL, its type, and its value in each row."""

    name: str
    text: str
    type: t.DataType
    values: Sequence[object]


def differences(
    rows: DuckRows, expected: Sequence[ExpectedValues], alike: Callable[[object, object], bool] = same
) -> list[str]:
    """Where DuckDB has another type or another value."""
    found, pieces = [], []
    for one in expected:
        try:
            piece = rows.spelled(one.text)
        except UnspelledOperation as problem:
            found.append(f"{one.name}: {one.text} is not spelled: {problem}")
            continue
        if piece.type != one.type:
            found.append(f"{one.name}: {one.text} is {one.type}, not {piece.type}")
        else:
            pieces.append((one, piece))
    return found + list(_other_values(rows, pieces, alike))


def _other_values(
    rows: DuckRows,
    pieces: Sequence[tuple[ExpectedValues, DuckText]],
    alike: Callable[[object, object], bool],
) -> list[str]:
    try:
        values = rows.values([piece for _, piece in pieces])
    except Exception as problem:
        if len(pieces) == 1:
            ((one, piece),) = pieces
            return [f"{one.name}: {one.text} is {piece.text} and fails: {problem}"]
        half = len(pieces) // 2
        return [line for part in (pieces[:half], pieces[half:]) for line in _other_values(rows, part, alike)]
    return [
        f"{one.name}: {one.text} is {list(one.values)!r}, but {piece.text} is {theirs!r}"
        for (one, piece), theirs in zip(pieces, values, strict=True)
        if not all(map(alike, one.values, theirs))
    ]


def references(node: e.Expr) -> str | None:
    """The fields of the column `a`."""
    match node:
        case e.Attribute(_, name) | e.EventTime(_, name):
            return f"a.{name}"
        case e.WholeEvent():
            return "a"
    return None
