"""The same queries over attributes of other types: numbers with NaN and two zeros, decimals, timestamps."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from dataclasses import replace
from random import Random

from generate.rewritable import Sample
from generate.streams import Row
from neelc.errors import NeelError
from neelc.ir.script import CreateStream, Script
from neelc.ir.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TIMESTAMP, DataType, Decimal

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
Change = tuple[DataType, Callable[[int, Random], object]]


def _number(value: int, chance: Random) -> object:
    """Some zeros are below zero, and 3 is not a number."""
    return float("nan") if value == 3 else -0.0 if value == 0 and chance.random() < 0.5 else float(value)


VALUES: tuple[Change, ...] = (
    (INT, lambda value, _: value),
    (DOUBLE, _number),
    (FLOAT, _number),
    (Decimal(6, 2), lambda value, _: decimal.Decimal(value).quantize(decimal.Decimal("0.01"))),
    (BIGINT, lambda value, _: value),
    (SMALLINT, lambda value, _: value),
)
TIMES: tuple[Change, ...] = (
    (BIGINT, lambda value, _: value),
    (TIMESTAMP, lambda value, _: EPOCH + datetime.timedelta(milliseconds=value)),
)


def retyped(found: Sample, seed: int) -> Sample:
    """The sample, unless the query cannot be asked of such attributes."""
    chance = Random(seed)
    times = chance.choice(TIMES)
    changes = {"x": chance.choice(VALUES), "id": chance.choice(VALUES), "ts": times, "te": times}
    statements = [
        _with_types(one, changes) if isinstance(one, CreateStream) else one for one in found.script.statements
    ]
    tables = tuple(
        {name: [_with_values(row, changes, chance) for row in rows] for name, rows in one.items()}
        for one in found.tables
    )
    changed = Sample(Script(tuple(statements)), tables, found.shared)
    try:
        return changed if changed.match else found
    except NeelError:
        return found


def _with_types(stream: CreateStream, changes: dict[str, Change]) -> CreateStream:
    columns = [
        replace(column, type=changes[column.name][0]) if column.name in changes else column
        for column in stream.columns
    ]
    unit = stream.timestamp.unit if changes["ts"][0] == BIGINT and stream.timestamp else None
    timestamp = stream.timestamp and replace(stream.timestamp, unit=unit)
    return replace(stream, columns=tuple(columns), timestamp=timestamp)


def _with_values(row: Row, changes: dict[str, Change], chance: Random) -> Row:
    changed = dict(row)
    for name, (_, value) in changes.items():
        known = row.get(name)
        if isinstance(known, int):
            changed[name] = value(known, chance)
    return changed
