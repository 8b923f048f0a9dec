"""VARIANTs on the local engine: JSON texts, which are those of the reference and of Spark
(tests/spark/test_rules_on_spark.py compares the two)."""

from __future__ import annotations

import datetime
import decimal

import pytest
from in_local import result_over, table_of
from variant_values import VALUES

from neelc.engines.spark.relations import Let, Read, Relations, SelectColumns
from neelc.ir.program import Column, Stream
from neelc.ir.types import (
    BIGINT,
    BINARY,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
)
from neelc.runtime.values.times import Months, in_zone
from neelc.scalar.duckdb.pieces import NameScope, UnspelledOperation
from neelc.scalar.duckdb.spelling import spelled
from neelc.scalar.variants import as_object

PAIR = Struct((StructField("b", DOUBLE), StructField("`A b`", Array(STRING))))
MORE: list[tuple[object, DataType]] = [
    (None, BIGINT),
    (-(2**63), BIGINT),
    (5e-324, DOUBLE),
    (1e7, DOUBLE),
    (9999999.0, DOUBLE),
    (0.001, DOUBLE),
    (float("inf"), FLOAT),
    (decimal.Decimal("0.05"), Decimal(2, 2)),
    (decimal.Decimal("-0.50"), Decimal(2, 2)),
    (decimal.Decimal("-120.00"), Decimal(38, 2)),
    ("", STRING),
    ("a\0b", STRING),
    (b"", BINARY),
    (datetime.date(1, 1, 1), DATE),
    (datetime.datetime(1890, 1, 1, 0, 0, 0, 1, datetime.UTC), TIMESTAMP),
    (datetime.datetime(2024, 7, 1, 23, 59, 59, 120000, datetime.UTC), TIMESTAMP),
    (datetime.datetime(1, 1, 1), TIMESTAMP_NTZ),
    ([], Array(INT)),
    ([[1, None], None, []], Array(Array(INT))),
    ([{"b": float("nan"), "A b": ['"', None]}, None, {"b": None, "A b": None}], Array(PAIR)),
    ({"x": [1.5], "": None}, Map(STRING, Array(DOUBLE))),
    (datetime.timedelta(days=1, seconds=2), DAY_INTERVAL),
    (Months(14), YEAR_INTERVAL),
    ({1: "one"}, Map(INT, STRING)),
    ([datetime.timedelta(seconds=2), None], Array(DAY_INTERVAL)),
]
ALL = [*((value, kind) for _, value, kind in VALUES), *MORE]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"])
@pytest.mark.parametrize("text", ["to_variant_object(struct(*))", "to_variant_object(named_struct({}))"])
def test_texts_are_those_of_the_reference(text: str, zone: str) -> None:
    names = [f"v{place}" for place in range(len(ALL))]
    columns = tuple(Column(name, kind) for name, (_, kind) in zip(names, ALL, strict=True))
    row = dict(zip(names, (value for value, _ in ALL), strict=True))
    fields = ", ".join(f"'{name}', {name}" for name in names)
    lets = (
        Let("s", Read("s")),
        Let("result", SelectColumns("s", ((text.format(fields), "v"), ("CAST(NULL AS VARIANT)", "n")))),
    )
    stream = Stream("s", columns, "v0")
    result = (Column("v", VARIANT), Column("n", VARIANT))
    (found,) = result_over(Relations(lets), {"s": table_of(stream, [row])}, result, zone).rows
    with in_zone(zone):
        expected = as_object([(name, row[name], kind) for name, (_, kind) in zip(names, ALL, strict=True)])
    assert found == (expected, None)


@pytest.mark.parametrize("text", ["CAST(x AS VARIANT)", "to_variant_object(named_struct('a', x))"])
def test_what_users_do_with_variants_is_spark_s(text: str) -> None:
    with pytest.raises(UnspelledOperation):
        spelled(text, NameScope({"": {"x": INT}}, strict=True))
