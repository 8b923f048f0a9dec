"""Queries answered by the local engine, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from on_spark import Asking, Question, Refusal, compiled

from neelc.api.local_frame import LocalFrame
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.plan import local_program
from neelc.engines.local.tables import LocalTable
from neelc.ir.algebra import Algebra
from neelc.ir.program import Stream
from neelc.runtime.reference import Result
from neelc.scalar.duckdb.evaluated import arrow_type, writer_of
from neelc.scalar.duckdb.pieces import UnspelledOperation


def table_of(stream: Stream, rows: Sequence[Mapping[str, object]]) -> LocalTable:
    """The rows of a stream, as they come from the reference interpreter."""
    types = {column.name: column.type for column in stream.own_columns}
    columns = {}
    for name, type in types.items():
        write = writer_of(type)
        values = [None if row[name] is None else write(row[name]) for row in rows]
        columns[name] = pa.array(values, arrow_type(type))
    return LocalTable(pa.table(columns), types)


def answer(question: Question, asking: Asking, processes: int = 1) -> Result | Refusal:
    """The rows of a query, or why it has none."""
    found = compiled(question, asking)
    if isinstance(found, Refusal):
        return found
    tables = {one.name: table_of(one, question.tables[one.name]) for one in question.streams}
    try:
        program = local_program(found.relations, {name: one.types for name, one in tables.items()})
    except UnspelledOperation as error:
        return Refusal(str(error))
    expected = {column.name: column.type for column in question.columns}
    assert dict(program.columns) == expected, f"columns {program.columns} instead of {expected}"
    engine = LocalEngine(question.zone, processes)
    rows = list(LocalFrame.of(engine.run(program, tables, found.aggregates)).rows())
    is_algebra = isinstance(question.program.queries[-1].query, Algebra)
    return Result(question.columns, rows, has_valid_time=is_algebra)
