"""Random MATCH_RECOGNIZE clauses: Spark finds the rows that the reference finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from types import SimpleNamespace
from typing import Any

from generate.row_patterns import clause, rows
from in_rows import COLUMNS, as_bag, bound
from on_spark import Asking, answers, check_columns, configured

from neelc.api.query import run_source
from neelc.emit.literals import identifier, spark_type
from neelc.emit.python import python_source
from neelc.emit.relations import Let, Read, Relations
from neelc.emit.row_relations import row_relations
from neelc.errors import NeelError
from neelc.ir.recognize import Recognize
from neelc.plan.row_plan import row_plan
from neelc.plan.unsupported import Unsupported
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import CannotSkip, recognized

FIRST, CLAUSES, TOGETHER = 700_000, 20, 20
TABLES = 3


def samples() -> Iterator[tuple[str, Recognize, list[Mapping[str, object]]]]:
    """Clauses with an answer, each with rows whose order is certain."""
    seed = FIRST
    for _ in range(CLAUSES):
        while True:
            seed += 1
            chance = Random(seed)
            text = clause(chance)
            table = [row for _ in range(TABLES) for row in rows(chance)]
            table = [{**row, "t": number} for number, row in enumerate(table)]
            chance.shuffle(table)
            try:
                query = bound(text)
                row_plan(query)
                recognized(query, table)
            except (NeelError, CannotSkip, LimitReached, Unsupported):
                continue
            yield text, query, table
            break


def frame_of(spark: Any, query: Recognize, table: list[Mapping[str, object]]) -> Any:
    """The DataFrame of a clause over a table."""
    schema = ", ".join(f"{identifier(column.name)} {spark_type(column.type)}" for column in COLUMNS)
    values = [tuple(row[column.name] for column in COLUMNS) for row in table]
    lets = (Let("t", Read("t")), *row_relations(row_plan(query), "t", "result", {"t"}))
    source = python_source(Relations(lets), "a clause")
    return run_source(source, spark, {"t": spark.createDataFrame(values, schema).repartition(3)}, {})


def test_random_clauses(spark: Any) -> None:
    asked = list(samples())
    with configured(spark, Asking(shuffled=3, batch=4)):
        for first in range(0, len(asked), TOGETHER):
            part = asked[first : first + TOGETHER]
            frames = []
            for _, query, table in part:
                question: Any = SimpleNamespace(columns=query.output)
                frames.append((question, frame_of(spark, query, table)))
                check_columns(*frames[-1])
            for (text, query, table), found in zip(part, answers(frames), strict=True):
                assert as_bag(found) == as_bag(recognized(query, table)), f"{text}\n{table}"
