"""Users' functions of the lists of complete matches: columns of lists become columns of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from neelc.runtime.failures import AGGREGATE, Facts, KernelFailure
from neelc.runtime.python_values import as_column, python_values
from neelc.runtime.registered import AggregateFailure, Function, called, needed

Call = tuple[str, str, str, str]
"""The name of a function, the column of its lists, that of its results, and their type."""


def aggregated(frame: Any, calls: Sequence[Call], aggregates: Mapping[str, Function]) -> Any:
    """The DataFrame with a column for each call in place of the column of its lists."""
    functions = needed(aggregates, (name for name, *_ in calls))
    rest = frame.drop(*(column for _, column, *_ in calls))
    # An own word for the schema would have to say all columns of the matches again.
    shape = rest.selectExpr("*", *(f"CAST(NULL AS {type}) AS `{result}`" for *_, result, type in calls))
    return frame.mapInArrow(partial(_run, tuple(calls), functions), shape.schema)


def _run(
    calls: Sequence[Call], functions: Mapping[str, Function], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        lists = {column for _, column, *_ in calls}
        columns = {name: batch.column(name) for name in batch.schema.names if name not in lists}
        for name, column, result, type in calls:
            columns[result] = as_column(_results(name, functions[name], type, batch.column(column)), type)
        yield pa.RecordBatch.from_pydict(columns)


def _results(name: str, function: Function, type: str, lists: pa.Array) -> list[object]:
    """What the function gives for each list."""
    try:
        return [called(name, function, type, values) for values in _values(lists)]
    except AggregateFailure as failure:
        raise KernelFailure(Facts(AGGREGATE, str(failure))) from failure


def _values(lists: pa.Array) -> Iterator[list[Any]]:
    """The values of each list; none where there is no list."""
    for value in python_values(lists):
        yield value if isinstance(value, list) else []
