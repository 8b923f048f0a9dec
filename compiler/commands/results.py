"""The rows of a DataFrame as text, or as Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from neelc.api.local import counting
from neelc.api.values import values_of
from neelc.commands.counts import IS_COMPLETE, Tally
from neelc.commands.progress import Progress
from neelc.commands.tables import LINES, as_table
from neelc.data.order import in_order
from neelc.ir.logical import Column
from neelc.runtime.reference import Result

# Up to so many rows are put in order, as the reference interpreter prints them; more are written as they
# come.
ROWS_IN_ORDER = 100_000


def print_rows(
    frame: Any,
    columns: Sequence[Column],
    kind: str,
    out: TextIO,
    title: str,
    progress: Progress,
    is_ordered: bool = False,
    has_starts: bool = False,
) -> Tally:
    """Write the rows to a text; gives their number. `is_ordered`: their order stays as it is; `has_starts`:
    complete ones are counted, too.

    They are found by all tasks at once and kept by Spark: they need not fit into this process, unless a table
    is asked for, whose columns are as wide as their widest cell.
    """
    kept = frame.persist()
    try:
        count = int(kept.count())
        complete = int(kept.where(IS_COMPLETE).count()) if has_starts else 0
        progress.begin("writing the rows")
        few = count <= ROWS_IN_ORDER or kind == "table"
        rows: Iterable[tuple[object, ...]]
        rows = values_of(kept.collect() if few else kept.toLocalIterator(prefetchPartitions=True), columns)
        progress.pause()  # a line about progress must not stand among the rows on a terminal
        out.write(title)
        if kind == "table":
            out.write(as_table(Result(tuple(columns), list(rows)), is_ordered))
        else:
            out.writelines(LINES[kind](columns, in_order(rows) if few and not is_ordered else rows))
        return Tally(count, complete)
    finally:
        with suppress(Exception):
            kept.unpersist()


def write_parquet(frame: Any, path: str, overwrite: bool, has_starts: bool = False) -> Tally:
    """Let Spark write the rows; gives their number."""
    counted, count = counting(frame)
    counted, complete = counting(counted, IS_COMPLETE) if has_starts else (counted, int)
    counted.write.mode("overwrite" if overwrite else "errorifexists").parquet(path)
    return Tally(count(), complete())
