"""Queries answered by the local engine, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from on_spark import Asking, Question, Refusal, compiled

from neelc.api.local_frame import LocalFrame
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.plan import local_program
from neelc.engines.local.tables import LocalTable
from neelc.engines.spark.relations import Relations
from neelc.ir.algebra import Algebra
from neelc.ir.program import Column
from neelc.runtime.reference import Result
from neelc.scalar.duckdb.spelling import spelled_schema
from neelc.tools.cases.local import arrow_table, local_rows, table_of

__all__ = ["answer", "made_locally", "result_over", "table_of"]


def made_locally(rows: Sequence[Mapping[str, object]], schema: str) -> pa.Table:
    """Rows as a table of Arrow, whose columns have the types of a schema in Spark's words."""
    return arrow_table(rows, spelled_schema(schema))


def result_over(
    relations: Relations, tables: Mapping[str, LocalTable], columns: Sequence[Column], zone: str = "UTC"
) -> Result:
    """The rows of a plan over tables. VARIANTs are texts."""
    program = local_program(relations, {name: one.types for name, one in tables.items()})
    assert dict(program.columns) == {column.name: column.type for column in columns}
    rows = LocalFrame.of(LocalEngine(zone, 1).run(program, tables)).with_json().rows()
    return Result(tuple(columns), list(rows))


def answer(question: Question, asking: Asking, processes: int = 1) -> Result | Refusal:
    """The rows of a query, or why it has no plan; raises `UnspelledOperation`."""
    found = compiled(question, asking)
    if isinstance(found, Refusal):
        return found
    tables = {one.name: table_of(one, question.tables[one.name]) for one in question.streams}
    engine = LocalEngine(question.zone, processes)
    rows = local_rows(found.relations, question.columns, tables, engine, functions=found.aggregates)
    is_algebra = isinstance(question.program.queries[-1].query, Algebra)
    return Result(question.columns, rows, has_valid_time=is_algebra)
