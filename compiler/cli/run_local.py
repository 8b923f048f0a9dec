"""`neelc run` on the local engine: compile, find the matches with DuckDB and the kernels, write them."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from neelc.api.local import describing_locally, unspelled
from neelc.api.local_frame import LocalFrame
from neelc.api.streams import streams_read
from neelc.catalog.data_warnings import unit_notes
from neelc.catalog.inputs import Inputs, in_order
from neelc.cli.compile import options_in
from neelc.cli.options import bound, chosen, print_warnings, refuse_unused, statistics_of
from neelc.cli.progress import Progress
from neelc.cli.report import report_request
from neelc.cli.run import RowTally, counted, has_starts, unit_of
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.inputs import local_tables
from neelc.engines.local.plan import local_program
from neelc.engines.local.program import LocalProgram
from neelc.engines.local.tables import LocalTable
from neelc.files import whole_file
from neelc.ir.bound_rows import HostQuery
from neelc.ir.program import NamedQuery, Program
from neelc.pattern.bind.partial import COMPLETE, STOPPED
from neelc.pipeline import compile_query
from neelc.runtime.reference import Result
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation
from neelc.source import Source
from neelc.tools.result_text import LINES, as_table

if TYPE_CHECKING:
    from neelc.engines.spark.compiled import CompiledScript

ROWS_IN_ORDER = 100_000
"""Up to this many rows are sorted, as the reference interpreter prints them."""


@dataclass(frozen=True)
class LocalJob:
    """The queries of a script whose rows are requested, and the data that they read."""

    inputs: Inputs
    program: Program
    queries: tuple[tuple[NamedQuery, CompiledScript, LocalProgram], ...]
    tables: Mapping[str, LocalTable]

    def frames(self, engine: LocalEngine) -> list[LocalFrame]:
        """The rows of each query: nothing has run yet."""
        return [
            LocalFrame.of(engine.run(made, self.tables, compiled.aggregates))
            for _, compiled, made in self.queries
        ]


def run_local(source: Source, kind: str, options: argparse.Namespace) -> int:
    """Run a script; gives the exit code."""
    start = time.perf_counter()
    try:
        with Progress(sys.stderr) as progress:
            progress.begin("reading the script")
            job = local_job(source, options)
            engine = LocalEngine(options.timezone or "UTC")
            progress.begin("finding matches")
            tally = _written(job, job.frames(engine), kind, options, progress)
    except KeyboardInterrupt as stop:
        print("neelc: stopped; nothing was written", file=sys.stderr)
        return 128 + (stop.args[0] if stop.args else signal.SIGINT)
    seconds = time.perf_counter() - start
    how = ", ".join(dict.fromkeys(name for _, one, _ in job.queries for _, name in one.strategies))
    unit = unit_of(named.query for named, _, _ in job.queries)
    print(f"{counted(tally, unit)} in {seconds:.2f} s (local engine: {how})", file=sys.stderr)
    return 0


def local_job(source: Source, options: argparse.Namespace) -> LocalJob:
    """The script, bound and compiled; raises `NeelError`."""
    inputs, program = bound(source, options, lambda _: describing_locally)
    positions = chosen(program, options.query)
    refuse_unused(inputs, program, options)
    print_warnings(program, source)
    for note in unit_notes(inputs, program):
        print(f"note: {note}", file=sys.stderr)
    statistics = statistics_of(inputs, program, options.stats)
    report_request(inputs, program, positions, options)
    zone = options.timezone or "UTC"
    calls: dict[str, EvaluatedCall] = {}
    tables = local_tables(inputs, streams_read(program, positions), {}, calls, zone)
    types = {name: table.types for name, table in tables.items()}
    queries = []
    for place in positions:
        compiled = compile_query(program, place, source, options_in(options), statistics)
        try:
            queries.append(
                (program.queries[place], compiled, local_program(compiled.relations, types, calls))
            )
        except UnspelledOperation as error:
            raise unspelled(error, program, place, source) from None
    return LocalJob(inputs, program, tuple(queries), tables)


# The rows, as text or as files.


def _written(
    job: LocalJob, frames: Sequence[LocalFrame], kind: str, options: argparse.Namespace, progress: Progress
) -> RowTally:
    if kind == "parquet":
        (frame,) = frames
        return RowTally(frame.write(options.output, format=kind, overwrite=options.overwrite))
    if options.output is None:
        return _printed(job, frames, kind, sys.stdout, progress)
    with whole_file(Path(options.output)) as out:
        return _printed(job, frames, kind, out, progress)


def _printed(
    job: LocalJob, frames: Sequence[LocalFrame], kind: str, out: TextIO, progress: Progress
) -> RowTally:
    tally = RowTally()
    for place, ((named, _, _), frame) in enumerate(zip(job.queries, frames, strict=True)):
        is_ordered = isinstance(named.query, HostQuery) and named.query.is_ordered
        rows = list(frame.rows())
        progress.pause()  # a line about progress must not stand among the rows on a terminal
        if len(frames) > 1:
            out.write(("\n" if place else "") + f"{named.name or 'query'}:\n")
        columns = frame.typed_columns
        if kind == "table":
            out.write(as_table(Result(columns, rows), is_ordered))
        else:
            few = len(rows) <= ROWS_IN_ORDER and not is_ordered
            out.writelines(LINES[kind](columns, in_order(rows) if few else rows))
        complete = 0
        if has_starts(named.query):
            at = frame.columns.index(STOPPED)
            complete = sum(row[at] == COMPLETE for row in rows)
        tally += RowTally(len(rows), complete)
    return tally
