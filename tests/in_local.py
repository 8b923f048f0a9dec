"""Queries answered by the local engine, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from on_spark import Asking, Question, Refusal, compiled

from neelc.api.local_frame import LocalFrame
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.plan import local_program
from neelc.engines.local.program import LocalProgram
from neelc.engines.local.tables import LocalTable
from neelc.engines.spark.compiled import CompiledScript
from neelc.engines.spark.relations import Relations
from neelc.ir.algebra import Algebra
from neelc.ir.program import Column, Program, Stream, streams_read
from neelc.runtime.reference import Result, Tables
from neelc.scalar.duckdb.spelling import spelled_schema
from neelc.tools.cases.local import (
    arrow_table,
    columns_of,
    program_giving,
    program_rows,
    stored_types,
    table_of,
)

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


@dataclass(frozen=True)
class LocalQuery:
    """The last query of a program, compiled for the local engine: it can run over any streams."""

    program: Program
    compiled: CompiledScript
    local: LocalProgram

    def answer(self, tables: Tables, zone: str = "UTC", processes: int = 1) -> Result:
        """Its rows."""
        given = {name: table_of(one, tables[name]) for name, one in _streams(self.program).items()}
        engine = LocalEngine(zone, processes)
        rows = program_rows(self.local, given, engine, self.compiled.aggregates)
        is_algebra = isinstance(self.program.queries[-1].query, Algebra)
        return Result(columns_of(self.program), rows, has_valid_time=is_algebra)


def local_query(program: Program, asking: Asking) -> LocalQuery | Refusal:
    """The last query of a program, or why it has no plan; raises `UnspelledOperation`."""
    found = compiled(Question("", program, {}), asking)
    if isinstance(found, Refusal):
        return found
    types = {name: stored_types(one) for name, one in _streams(program).items()}
    return LocalQuery(program, found, program_giving(columns_of(program), found.relations, types))


def _streams(program: Program) -> dict[str, Stream]:
    return streams_read(program, range(len(program.queries)))


def answer(question: Question, asking: Asking, processes: int = 1) -> Result | Refusal:
    """The rows of a query, or why it has no plan; raises `UnspelledOperation`."""
    found = local_query(question.program, asking)
    return found if isinstance(found, Refusal) else found.answer(question.tables, question.zone, processes)
