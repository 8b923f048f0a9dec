"""Queries around MATCH_RECOGNIZE that need no Spark: SELECT items FROM rows MATCH_RECOGNIZE (...) WHERE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from neelc.ir import expressions as e
from neelc.ir.bound_rows import SimpleQuery
from neelc.ir.expressions import QUERY
from neelc.ir.names import bare, written
from neelc.ir.node import Node, map_children, walk
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.reference.recognize import recognized, value_of_row
from neelc.runtime.reference.results import Result, named_rows
from neelc.runtime.values.order import comparable

Rows = Sequence[Mapping[str, object]]


def selected(query: SimpleQuery, tables: Mapping[str, Rows]) -> Result:
    """The rows of a query; `tables` are those of the streams."""
    contexts = [
        EvaluationContext({written(query.name): ReferenceEvent("", 0, None, 0, 0, row, (None, None))})
        for row in _rows(query, tables)
    ]
    if query.where is not None:
        contexts = [one for one in contexts if evaluate(query.where, one) is True]
    if query.is_aggregate:
        values = tuple(_aggregated(output.expression, contexts) for output in query.outputs)
        return Result(query.columns, [values])
    rows = [tuple(evaluate(output.expression, one) for output in query.outputs) for one in contexts]
    if query.distinct:
        rows = list({tuple(map(comparable, row)): row for row in rows}.values())
    return Result(query.columns, rows)


def _rows(query: SimpleQuery, tables: Mapping[str, Rows]) -> Rows:
    rows = rows_read(query, tables)
    return rows if query.recognize is None else named_rows(recognized(query.recognize, rows))


def rows_read(query: SimpleQuery, tables: Mapping[str, Rows]) -> Rows:
    """The rows that a query, or its MATCH_RECOGNIZE, reads."""
    rows = tables[query.reads] if isinstance(query.reads, str) else named_rows(selected(query.reads, tables))
    for column, nested in query.nested:
        value_of = _nested_value(column.expression, [row[0] for row in selected(nested, tables).rows])
        rows = [{**row, column.name: value_of(row)} for row in rows]
    return rows


class MultipleRows(Exception):
    """A query inside a clause has several rows, where one value is expected.

    `query` is the place of the query around it in its program, from 0.
    """

    query: int | None = None

    def __init__(self, query: e.NestedQuery, rows: int) -> None:
        super().__init__(f"a scalar subquery must have at most one row, but this one has {rows:,}")
        self.subquery = query


def _nested_value(expression: e.Expr, values: Sequence[object]) -> Callable[[Mapping[str, object]], object]:
    """The value of a nested query for each row; `values` are those of its column."""
    match expression:
        case e.InQuery(operand, item=item):
            assert item is not None
            items = [_evaluated(item, QUERY, value) for value in values]
            among = {comparable(value) for value in items if value is not None}
            return lambda row: _is_among(value_of_row(operand, row), among, bool(items), None in items)
        case e.NestedQuery(exists=True):
            return lambda row: bool(values)
        case e.NestedQuery() if len(values) > 1:
            raise MultipleRows(expression, len(values))
    return lambda row: values[0] if values else None


def _is_among(value: object, among: set[object], has_rows: bool, has_null: bool) -> bool | None:
    """`value IN (...)`.

    >>> [_is_among(value, {1}, True, True) for value in (1, 2, None)], _is_among(None, set(), False, False)
    ([True, None, None], False)
    """
    if not has_rows:
        return False
    if value is None:
        return None
    return True if comparable(value) in among else None if has_null else False


def _evaluated(item: e.Expr, variable: str, value: object) -> object:
    """What a value of the query is compared as."""
    (column,) = {node.name for node in walk(item) if isinstance(node, e.Attribute)}
    row = {bare(column): value}
    return evaluate(item, EvaluationContext({variable: ReferenceEvent("", 0, None, 0, 0, row, (None, None))}))


def _aggregated(expression: e.Expr, contexts: Sequence[EvaluationContext]) -> object:
    """An expression of aggregates over all rows."""

    def change(node: Node) -> Node:
        match node:
            case e.Aggregate(_, None, type):
                return e.Literal(len(contexts), type)
            case e.Aggregate(name, argument, type, distinct):
                assert argument is not None
                values = [evaluate(argument, one) for one in contexts]
                present = [value for value in values if value is not None]
                return e.Literal(aggregate(name, present, type, distinct), type)  # type: ignore[arg-type]
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, e.Expr)
    return evaluate(changed, EvaluationContext({}))
