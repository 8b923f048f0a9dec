"""`neelc run` of queries that are Spark's: with Spark, which tells what it knows, or without it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neelc.api.host import check_session, described, running
from neelc.api.schemas import columns_of
from neelc.cli.host_queries import with_located_streams
from neelc.cli.options import check_data, with_timezone
from neelc.cli.output import written as written_table
from neelc.cli.progress import Progress
from neelc.cli.run import RowTally, counted
from neelc.cli.run_on_spark import Job, QueryRows, run_job, settings_of
from neelc.engines.host.inputs import HostInputs
from neelc.engines.host.tables import HostTable
from neelc.files import write_whole
from neelc.ir.program import Stream
from neelc.syntax.host import HostStatement


@dataclass(frozen=True)
class HostJob(Job):
    """Queries of Spark's at `places`."""

    host: HostInputs | None = None
    places: tuple[int, ...] = ()

    def found(self, spark: Any, frames: Mapping[str, Any]) -> list[QueryRows]:
        assert self.host is not None
        if self.host.untrusted:
            check_session(spark)
        rows = []
        for place in self.places:
            host = self.host.compiled(place, lambda relations: described(relations, spark, frames))
            statement = self.host.script.statements[place]
            frame = running(host.compiled.source, spark, frames, self.host.script, place)
            known = columns_of(frame.schema)
            names = {column.name for column in known}
            if len(known) < len(frame.columns):  # what has no form here is told as text
                items = [
                    name if name in names else f"CAST(`{name}` AS STRING) AS `{name}`"
                    for name in frame.columns
                ]
                frame = frame.selectExpr(*items)
                known = columns_of(frame.schema)
            rows.append(QueryRows(statement.name, known, frame, is_ordered(statement)))
        return rows


def is_ordered(statement: HostStatement) -> bool:
    """Whether the rows of a query have an order: ORDER BY outside of all parentheses."""
    depth = 0
    for token in statement.tokens:
        depth += token.says("(") - token.says(")")
        if depth == 0 and token.says("ORDER", "SORT"):
            return True
    return False


def run_host_on_spark(host: HostInputs, places: Sequence[int], kind: str, options: argparse.Namespace) -> int:
    settings = with_timezone(settings_of(options.conf), options.timezone)
    host = with_located_streams(host)
    streams = {table.name: _stream(table, host) for table in host.tables.values() if _is_read(table, host)}
    check_data(host.inputs, streams)
    output, here = options.output, tuple(places)
    job = HostJob(host.inputs, (), streams, kind, output, options.overwrite, host=host, places=here)
    return run_job(job, options, settings, "rows")


def _is_read(table: HostTable, host: HostInputs) -> bool:
    return any(statement.mentions(table.name) for statement in host.script.statements)


def _stream(table: HostTable, host: HostInputs) -> Stream:
    declared = next((one for one in host.streams if one.name == table.name), None)
    return declared or Stream(table.name, table.columns, "")


def run_host_on_reference(
    host: HostInputs, places: Sequence[int], kind: str, options: argparse.Namespace
) -> int:
    start = time.perf_counter()
    with Progress(sys.stderr) as progress:
        progress.begin("finding matches")
        results = [(host.script.statements[place].name, host.answer(place)) for place in places]
    seconds = time.perf_counter() - start
    text = written_table(results, kind)
    if options.output:
        write_whole(Path(options.output), text)
    else:
        sys.stdout.write(text)
    rows = sum(len(result.rows) for _, result in results)
    print(f"{counted(RowTally(rows), 'row')} in {seconds:.2f} s (reference engine)", file=sys.stderr)
    return 0
