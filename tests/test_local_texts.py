"""Many rows as CSV and JSON: Arrow writes what the writer of single values does."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import neelc
from neelc.api import local_texts
from neelc.engines.local.functions import arrow_type, reader_of, values_of
from neelc.ir.program import Column
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    DataType,
    Decimal,
)
from neelc.runtime.values.times import in_zone
from neelc.tools import result_text

TEXTS = ["", " ", "a", "a,b", 'say "no"', "two\nlines", "null", "é\u2028", "  x", "\\", "NULL", "\t"]
FAR = datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30, 23, 59, 59, 999999)


def moment(chance: Random) -> datetime.datetime:
    parts = chance.choice([0, 500_000, 10, chance.randrange(10**6)])
    return chance.choice(
        [*FAR, datetime.datetime(1969 + chance.randrange(60), 3, 1, chance.randrange(24), 0, 0, parts)]
    )


VALUES: dict[DataType, Any] = {
    TINYINT: lambda chance: chance.choice([-128, 0, 127]),
    BIGINT: lambda chance: chance.choice([-(2**63), 2**63 - 1, chance.randrange(10**6)]),
    BOOLEAN: lambda chance: chance.random() < 0.5,
    DOUBLE: lambda chance: chance.choice([0.1, -0.0, 1e300, float("nan"), float("-inf"), 1e-7, 3.0]),
    STRING: lambda chance: chance.choice(TEXTS),
    BINARY: lambda chance: chance.choice([b"", b"\x00\xff"]),
    DATE: lambda chance: moment(chance).date(),
    TIMESTAMP: lambda chance: moment(chance).replace(tzinfo=datetime.UTC),
    TIMESTAMP_NTZ: moment,
    Decimal(5, 2): lambda chance: decimal.Decimal(chance.randrange(-9999, 9999)) / 100,
    DAY_INTERVAL: lambda chance: chance.randrange(-(10**12), 10**12),
    Array(STRING): lambda chance: [chance.choice([None, *TEXTS]) for _ in range(chance.randrange(3))],
}


def batch(chance: Random, types: list[DataType], nulls: float) -> pa.RecordBatch:
    count = chance.randrange(20)
    columns = []
    for type in types:
        values = [None if chance.random() < nulls else VALUES[type](chance) for _ in range(count)]
        columns.append(pa.array(values, arrow_type(type)))
    return pa.RecordBatch.from_arrays(columns, names=[f"c,{place}" for place in range(len(types))])


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_columns_are_written_as_single_values_are(kind: str, zone: str) -> None:
    types = list(VALUES)
    columns = [Column(f"c,{place}", type) for place, type in enumerate(types)]
    with in_zone(zone):
        for seed in range(40):
            chance = Random(seed)
            batches = [batch(chance, types, chance.choice([0.0, 0.3, 1.0])) for _ in range(2)]
            rows = [
                row
                for one in batches
                for row in zip(
                    *(values_of(one.column(n), reader_of(type)) for n, type in enumerate(types)), strict=True
                )
            ]
            found = list(local_texts.LINES[kind](columns, batches))
            assert found == list(result_text.LINES[kind](columns, rows)), seed


def test_rows_without_columns() -> None:
    rows = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert list(local_texts.csv_lines([], [rows])) == ["\n", "\n", "\n"]
    assert list(local_texts.json_lines([], [rows])) == ["{}\n", "{}\n"]


def test_write_gives_the_number_of_rows(tmp_path: Path) -> None:
    rows = [{"ts": place, "kind": "A,B"} for place in range(3)]
    found = neelc.local().sql("PATTERN E a RETURN a.ts, a.kind", E=neelc.stream(rows, timestamp="ts"))
    assert found.write(tmp_path / "rows.csv") == 3
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == "a_ts,a_kind" and sorted(lines[1:]) == [f'{place},"A,B"' for place in range(3)]
