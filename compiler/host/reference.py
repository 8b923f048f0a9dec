"""Simple queries around MATCH_RECOGNIZE, by the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neelc.host.simple import SimpleQuery
from neelc.ir.names import written
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Context, Event, comparable
from neelc.runtime.reference.recognize import recognized
from neelc.runtime.reference.results import Result

Rows = Sequence[Mapping[str, object]]


def answer(query: SimpleQuery, tables: Mapping[str, Rows]) -> Result:
    """The rows of a query; `tables` are those of the streams."""
    found: list[tuple[object, ...]] = []
    for row in _rows(query, tables):
        context = Context({written(query.name): Event("", 0, None, 0, 0, row, (None, None))})
        if query.where is None or evaluate(query.where, context) is True:
            found.append(tuple(evaluate(output.expression, context) for output in query.outputs))
    if query.distinct:
        found = list({tuple(map(comparable, row)): row for row in found}.values())
    return Result(query.columns, found)


def _rows(query: SimpleQuery, tables: Mapping[str, Rows]) -> Rows:
    rows = rows_read(query, tables)
    return rows if query.recognize is None else _named(recognized(query.recognize, rows))


def rows_read(query: SimpleQuery, tables: Mapping[str, Rows]) -> Rows:
    """The rows that a query, or its MATCH_RECOGNIZE, reads."""
    return tables[query.reads] if isinstance(query.reads, str) else _named(answer(query.reads, tables))


def _named(result: Result) -> Rows:
    names = [column.name for column in result.columns]
    return [dict(zip(names, row, strict=True)) for row in result.rows]
