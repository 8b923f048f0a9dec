"""Queries answered by the local engine, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from on_spark import Asking, Question, Refusal, compiled

from neelc.api.local_frame import LocalFrame
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.functions import arrow_type, writer_of
from neelc.engines.local.plan import local_program
from neelc.engines.local.tables import LocalTable
from neelc.engines.spark.relations import Relations
from neelc.ir.algebra import Algebra
from neelc.ir.program import Column, Stream
from neelc.runtime.reference import Result


def table_of(stream: Stream, rows: Sequence[Mapping[str, object]]) -> LocalTable:
    """The rows of a stream, as they come from the reference interpreter."""
    types = {column.name: column.type for column in stream.own_columns}
    columns = {}
    for name, type in types.items():
        write = writer_of(type)
        values = [None if row[name] is None else write(row[name]) for row in rows]
        columns[name] = pa.array(values, arrow_type(type))
    return LocalTable(pa.table(columns), types)


def result_over(relations: Relations, tables: Mapping[str, LocalTable], columns: Sequence[Column]) -> Result:
    """The rows of a plan over tables."""
    program = local_program(relations, {name: one.types for name, one in tables.items()})
    assert dict(program.columns) == {column.name: column.type for column in columns}
    rows = LocalFrame.of(LocalEngine(processes=1).run(program, tables)).rows()
    return Result(tuple(columns), list(rows))


def answer(question: Question, asking: Asking, processes: int = 1) -> Result | Refusal:
    """The rows of a query, or why it has no plan; raises `UnspelledOperation`."""
    found = compiled(question, asking)
    if isinstance(found, Refusal):
        return found
    tables = {one.name: table_of(one, question.tables[one.name]) for one in question.streams}
    program = local_program(found.relations, {name: one.types for name, one in tables.items()})
    expected = {column.name: column.type for column in question.columns}
    assert dict(program.columns) == expected, f"columns {program.columns} instead of {expected}"
    engine = LocalEngine(question.zone, processes)
    rows = list(LocalFrame.of(engine.run(program, tables, found.aggregates)).rows())
    is_algebra = isinstance(question.program.queries[-1].query, Algebra)
    return Result(question.columns, rows, has_valid_time=is_algebra)
