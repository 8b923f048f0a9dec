"""Expressions in DuckDB: each is spelled, many are computed in one query, and the values are those that the
reference interpreter has."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
from expressions import COLUMNS, ROWS
from like_spark import same

from neelc.engines.local.functions import arrow_type, reader_of, register, values_of, writer_of
from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.names import written
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.values.times import UTC, Months, in_zone
from neelc.runtime.values.types import single
from neelc.scalar.duckdb.pieces import (
    DuckText,
    EvaluatedCall,
    NameScope,
    UnspelledOperation,
    as_column,
    duck_type,
)
from neelc.scalar.duckdb.spelling import spelled
from neelc.scalar.spark.expressions import sql
from neelc.scalar.type_of import type_of

WHOLE = t.Struct(tuple(t.StructField(written(name), type) for name, type in COLUMNS.items()))
ZONES = ("UTC", "America/New_York")


@dataclass(frozen=True)
class DuckRows:
    """Rows for expressions to be computed of, and the types of their columns, in a session of a zone; whether
    the spelling `is_told` the zone."""

    types: dict[str, t.DataType]
    rows: Sequence[dict[str, Any]]
    zone: str = "UTC"
    is_told: bool = False
    calls: dict[str, EvaluatedCall] = field(default_factory=dict)

    def spelled(self, text: str) -> DuckText:
        zone = self.zone if self.is_told else ""
        return spelled(text, NameScope({"": self.types}, calls=self.calls, zone=zone))

    def connection(self) -> Any:
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        connection.execute(f"SET TimeZone = '{self.zone}'")
        columns = {
            name: pa.array([_dumped(row[name], type) for row in self.rows], arrow_type(type))
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


def _dumped(value: Any, type: t.DataType) -> Any:
    return None if value is None else writer_of(type)(value)


def _read(column: Any, type: t.DataType) -> list[object]:
    return values_of(column, reader_of(type))


# Values that are easily got wrong.

_TEXTS = [
    "abc", "", " ", "ABC", "Abc", "Grüße", "GRÜSSE", "İı", "ǅ", "😀e\u0301", "a\0b", "\0", "a%c", "a_c",
    "a\\c", "%", "_", "it's", "\n", "abc\n", "\t x ", "ＡＢＣ", "Ω", "\u212a", "$1", "[", "b+", "aa",
    "ab" * 60,
]  # fmt: skip
_NUMBERS = [
    "42", " -7 ", "+5", "007", "-0", "0", "1.5", "-1.5", ".5", "5.", "1e3", "1E-3", "1d", "1f", "NaN", "nan",
    "Infinity", "-inf", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "2147483648",
    "128", "-128", "99999999999999999999", "123456789012345678", "0.1234567890123456", "1_000", "0x10", "１",
    "123456789012345.123456789012345", "true", "False", " YES ", "t", "n", "0.", "1e400", "1e-400", "--1",
    "1 2",
]  # fmt: skip
_TIMES = [
    "2020-02-29", "2020-02-30", "2020-2-3", "2020", "0001-01-01", "9999-12-31", "0000-01-01", "12020-01-01",
    "2020-02-29 12:34:56", "2020-02-29T12:34:56.789", "2020-02-29 24:00:00", "2020-02-29 23:59:60",
    "2020-03-08 02:30:00", "2020-11-01 01:30:00", "2020-11-01 00:59:59.999999", "2020-03-08 02:30:00Z",
    "2020-03-08T07:30:00.123456Z", "2020-03-08 02:30:00.1234567", "2020-03-08 02:30:00+01:00",
    "2020-03-08 02:30:00 Europe/Berlin", "2020-03-08 02:30", "2020-03-08 2:3:4", " 2020-03-08 02:30:00 ",
    "1883-11-18 12:03:57", "1900-01-01 00:00:00", "2020-13-01 00:00:00", "2020-00-01 00:00:00", "1582-10-10",
    "1 02:03:04.5", "-1-2", "INTERVAL '1' DAY",
]  # fmt: skip
_MOMENTS = [
    "2020-02-29 12:34:56.789", "1969-12-31 23:59:59.5", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999",
    "2020-03-08 06:59:59.999999", "2020-03-08 07:00:00", "2020-03-08 12:30:00", "2020-03-07 07:30:00",
    "2020-11-01 05:30:00", "2020-11-01 06:30:00", "2020-11-01 04:00:00", "2020-11-02 05:00:00",
    "2020-10-31 05:30:00", "2020-03-08 02:30:00", "2020-11-01 01:30:00", "2019-12-31 23:00:00",
    "2024-02-29 00:00:00", "2021-01-03 00:00:00", "1883-11-18 17:00:00", "1883-11-18 16:59:00",
    "1700-05-05 05:05:05.000001", "1582-10-10 00:00:00", "0002-01-03 00:00:00", "9998-12-30 23:59:59.999999",
    "1919-03-31 04:30:00", "2262-04-11 23:47:16.854775", "2300-01-01 00:00:00", "2020-01-31 10:00:00",
    "2021-12-31 12:00:00",
]  # fmt: skip
_SPANS = [
    86_400_000_000, -3_600_000_001, 0, 1, -1, 86_399_999_999, -86_400_000_000, 90_000_000_000, 2**40,
    -(2**41), 31_536_000_000_000,
]  # fmt: skip
_DECIMALS = ["12.34", "-0.05", "0.00", "99999999.99", "-99999999.99", "1.00", "2.50", "-2.50", "3.00"]


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


_SPECIAL: dict[str, list[Any]] = {
    "y": [1, -8, 0, 127, -128, 3, 7],
    "h": [2, -300, 0, 32767, -32768, 11],
    "i": [3, -7, 0, 1, -1, 2, 2**31 - 1, -(2**31), 5, 100, 30, -2, 2**30, 12345],
    "l": [4, -5_000_000_000, 0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 86_400_000_001, 7, 1_000_000, -3],
    "f": [
        1.5, single(-0.1), 0.0, -0.0, math.nan, math.inf, -math.inf, single(3.4e38), single(1e-45), 2.0**24,
        2.5, single(1e10),
    ],
    "d": [
        2.5, math.nan, 0.0, -0.0, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.1, 1.0, -1.0, 9.2e18, 2.0**63,
        -(2.0**63), 2.0**53, 0.001, 0.00099999, 9999999.0, 1e7, 0.49999999999999994, 1.005, 2147483647.5,
        -2147483648.9, 123456.789, 1e22, 4.35, -0.5, -1.5, 3.5, 1e39, 0.3,
    ],
    "c": [decimal.Decimal(one) for one in _DECIMALS],
    "s": _TEXTS + _NUMBERS[:8] + _TIMES[:8],
    "n": _NUMBERS + _TIMES,
    "o": [True, False],
    "dt": [datetime.date.fromisoformat(one[:10]) for one in _MOMENTS],
    "ts": [_moment(one).replace(tzinfo=UTC) for one in _MOMENTS],
    "ntz": [_moment(one) for one in _MOMENTS],
    "bin": [b"ab", b"", b"\0", b"\xff\xfe", "é".encode(), b"abc", b"b"],
    "arr": [[1, 2], [None, -1], [], [None], [3], [2, 1], [1, 2, None], [2**31 - 1, 1]],
    "m": [{"k": 1}, {}, {"k": None, "other": 2}, {"": 0}],
    "st": [
        {"x": 1, "y": "z"}, {"x": None, "y": "Grüße"}, {"x": 1, "y": None}, {"x": None, "y": None},
        {"x": -5, "y": ""},
    ],
    "ds": [datetime.timedelta(microseconds=one) for one in _SPANS],
    "ym": [Months(one) for one in (12, -14, 0, 1, -1, 11, 25, 1200, -13)],
}  # fmt: skip


def edges(count: int) -> list[dict[str, Any]]:
    """Events of such values and NULLs, in the same mixture every time."""
    random = Random(count)
    columns: dict[str, list[Any]] = {}
    for name, values in _SPECIAL.items():
        columns[name] = list(islice(cycle([*values, None]), count))
        random.shuffle(columns[name])
    return [{name: values[place] for name, values in columns.items()} for place in range(count)]


EVENTS = [*ROWS, *edges(90)]
"""The events of tests/expressions.py, and those of special values."""


def events(zone: str, is_told: bool = False) -> DuckRows:
    """Each event is a struct `a`; `b` is the list of the events of tests/expressions.py."""
    rows = [{"a": event, "b": list(ROWS)} for event in EVENTS]
    return DuckRows({"a": WHOLE, "b": t.Array(WHOLE)}, rows, zone, is_told)


@dataclass(frozen=True)
class ExpectedValues:
    """An expression of Spark's SQL, its type, and its value in each row."""

    name: str
    text: str
    type: t.DataType
    values: Sequence[object]


def expected(expression: e.Expr, zone: str) -> ExpectedValues:
    """What the reference makes of an expression over `events`."""
    with in_zone(zone):
        values = [evaluate(expression, _context(number, event)) for number, event in enumerate(EVENTS)]
    return ExpectedValues(str(expression), sql(expression, references), type_of(expression), values)


def _context(number: int, attributes: dict[str, Any]) -> EvaluationContext:
    event = ReferenceEvent("S", number, "A", number, number + 5, attributes, (number, number + 5))
    return EvaluationContext({"a": event}, current=1)


def references(node: e.Expr) -> str | None:
    """The fields of the column `a`."""
    match node:
        case e.Attribute(_, name) | e.EventTime(_, name):
            return f"a.{name}"
        case e.WholeEvent():
            return "a"
    return None


def differences(rows: DuckRows, expected: Sequence[ExpectedValues]) -> list[str]:
    """Where DuckDB has another type or another value."""
    found, pieces = [], []
    for one in expected:
        try:
            piece = rows.spelled(one.text)
        except UnspelledOperation as problem:
            found.append(f"{one.name}: {one.text} is not spelled: {problem}")
            continue
        if piece.type != t.stored(one.type):
            found.append(f"{one.name}: {one.text} is {one.type}, not {piece.type}")
        else:
            pieces.append((one, piece))
    return found + _other_values(rows, pieces)


def _other_values(rows: DuckRows, pieces: Sequence[tuple[ExpectedValues, DuckText]]) -> list[str]:
    try:
        values = rows.values([piece for _, piece in pieces])
    except Exception as problem:
        if len(pieces) == 1:
            ((one, piece),) = pieces
            return [f"{one.name}: {one.text} is {piece.text} and fails: {problem}"]
        half = len(pieces) // 2
        return [line for part in (pieces[:half], pieces[half:]) for line in _other_values(rows, part)]
    return [
        line
        for (one, piece), theirs in zip(pieces, values, strict=True)
        for line in _other_value(rows, one, piece, theirs)
    ]


def _other_value(
    rows: DuckRows, one: ExpectedValues, piece: DuckText, theirs: Sequence[object]
) -> Iterator[str]:
    """The first row in which a value is another one."""
    for row, value, other in zip(rows.rows, one.values, theirs, strict=True):
        if not same(value, other):
            yield f"{one.name} is {value!r}, but {piece.text} is {other!r}, of {row}"
            return
