"""Kernels on Spark's own workers: rows go there and matches come back, and failures tell what they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bridging
import pytest
from bridging import PAIR, Row
from pyspark.errors import PythonException
from pyspark.sql.pandas.types import from_arrow_schema

from neelc.runtime.failures import parse_failure
from neelc.runtime.kernels.gathering import output_schema
from neelc.runtime.kernels.pattern_kernel import kernel
from neelc.runtime.program import PatternProgram, VariableOutput

FIELDS = tuple((name, name) for name in ("id", "name", "day", "at", "price", "tags", "more"))
PROGRAM = replace(PAIR, outputs=(VariableOutput("a", "A", FIELDS), VariableOutput("b", "B", FIELDS)))
PAYLOAD = (
    "*",
    "date_add(date'2026-01-01', int(start)) AS day",
    "timestamp_seconds(start) AS at",
    "cast(start AS decimal(9, 2)) AS price",
    "array(name, 'z') AS tags",
    "named_struct('x', id, 'm', map(name, start)) AS more",
)
ROWS = [
    Row(room, ward, time, 1 + time % 3, time, name)
    for room, ward, name in (("ä", 1, "\U0001f600"), (None, 2, "b"), ("ä", None, "é"))
    for time in range(20)
]


def result(spark: Any, program: PatternProgram, batch: int, **limits: Any) -> Any:
    """The matches of a program among `ROWS`, in two partitions."""
    columns = bridging.table(ROWS).drop_columns(["other", "chunk"])
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(batch))
    events = spark.createDataFrame(columns.to_pylist(), from_arrow_schema(columns.schema)).selectExpr(
        *PAYLOAD
    )
    sorted_events = events.repartition(2, *program.keys).sortWithinPartitions(*program.keys, "start")
    schema = output_schema(program, events.limit(0).toArrow().schema)
    return sorted_events.mapInArrow(kernel(program, **limits), from_arrow_schema(schema))


@pytest.mark.parametrize("batch", [3, 10_000])
def test_rows_come_back_with_their_types(spark: Any, batch: int) -> None:
    found = result(spark, PROGRAM, batch, rows_at_once=7)
    payload = dict(found.select("A.*").dtypes)
    assert payload == {
        "id": "bigint", "name": "string", "day": "date", "at": "timestamp", "price": "decimal(9,2)",
        "tags": "array<string>", "more": "struct<x:bigint,m:map<string,bigint>>",
    }  # fmt: skip
    rows = found.collect()
    matches = sorted(((row.A.id, row.B.id, row.match_start, row.match_end) for row in rows), key=repr)
    assert matches == bridging.found(PAIR, bridging.table(ROWS))
    assert all(
        row.A.tags == [row.A.name, "z"] and row.A.more.m == {row.A.name: int(row.A.price)} for row in rows
    )


def test_a_failure_tells_what_it_was(spark: Any) -> None:
    program = replace(PROGRAM, keys=("room",), labels=(("a", "Recycle a"), ("b", "Washing b")))
    with pytest.raises(PythonException) as caught:
        result(spark, program, 5, most_matches=3).collect()
    facts = parse_failure(str(caught.value))
    assert facts is not None
    assert (facts["kind"], facts["limit"], facts["part"]) == ("MAX_MATCHES", 3, "Recycle a, Washing b")
    assert facts["key"] in ({"room": "ä"}, {"room": None})
