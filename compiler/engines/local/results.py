"""The rows of a run as values of the runtime, and what may fail in a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from neelc.engines.local.functions import reader_of
from neelc.engines.local.pool import LocalWorkerFailure
from neelc.engines.local.program import Types
from neelc.runtime.failures import KernelFailure
from neelc.runtime.user_functions import AggregateFailure
from neelc.runtime.values.functions.space import MissingPackage


def row_values(batches: Any, types: Types) -> Iterator[tuple[object, ...]]:
    """The rows of batches of Arrow: instants in UTC, structs and maps as dictionaries."""
    readers = [reader_of(type) for type in types.values()]
    for batch in batches:
        if not types:  # DuckDB has no rows without columns, and gives one that nobody asked for
            yield from ((),) * batch.num_rows
            continue
        columns = [
            [None if value is None else read(value) for value in column.to_pylist()]
            for column, read in zip(batch.columns, readers, strict=True)
        ]
        yield from zip(*columns, strict=True)


def is_failed_run(error: Exception) -> bool:
    """Whether DuckDB, a kernel or a function of a user raised it; all else is a bug."""
    import duckdb

    if type(error) is OSError:  # Arrow's words for what fails while DuckDB's rows are read
        return re.match(r"(\w+ )+Error: ", str(error)) is not None
    return isinstance(
        error, duckdb.Error | KernelFailure | AggregateFailure | MissingPackage | LocalWorkerFailure
    )
