"""The pattern that `neelc doctor` has a worker find."""

from __future__ import annotations

from typing import Any

from neelc.runtime.bridge import kernel
from neelc.runtime.program import Bounds, Output, Program, Take

PROGRAM = Program(
    steps=(Take("a", "A"), Take("b", "B", Bounds(after=("a",)))),
    outputs=(Output("a", "a", (("start", "start"),)), Output("b", "b", (("start", "start"),))),
    roles=("A", "B"),
)
RESULT = "a STRUCT<start: BIGINT>, b STRUCT<start: BIGINT>, match_start BIGINT, match_end BIGINT"


def found_by_a_worker(spark: Any) -> list[tuple[int, int]]:
    """`SEQ(A a, B b)` over an A at 1 and a B at 2: their times."""
    events = spark.range(1, 3, 1, 1).selectExpr("id AS start", "id AS roles")
    return [(row.a.start, row.b.start) for row in events.mapInArrow(kernel(PROGRAM), RESULT).collect()]
