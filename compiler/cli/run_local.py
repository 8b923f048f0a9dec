"""`neelc run` on the local engine: compile, find the matches with DuckDB and the kernels, write them."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from neelc.api.local import describing_locally, unspelled
from neelc.api.local_frame import CountedBatches, LocalFrame
from neelc.api.local_texts import LINES as COLUMN_LINES
from neelc.api.streams import streams_read
from neelc.catalog.data_warnings import TypesSeen, missing_types, tie_note, unit_notes, used_types
from neelc.catalog.inputs import Inputs, in_order
from neelc.cli.compile import options_in
from neelc.cli.ending import end_note, with_complete
from neelc.cli.engine import check_is_here, settle_on_local
from neelc.cli.options import bound, chosen, print_warnings, refuse_for_rows, refuse_unused, statistics_of
from neelc.cli.progress import PhaseProgress, Progress, rows_words
from neelc.cli.report import EngineReport, report_request, write_report
from neelc.cli.run import ROWS_IN_ORDER, RowTally, counted, has_starts, stoppable, stopped, unit_of
from neelc.engines.local.execution import LocalEngine, LocalRun
from neelc.engines.local.inputs import local_tables
from neelc.engines.local.no_pandas import hidden_pandas
from neelc.engines.local.plan import local_program
from neelc.engines.local.program import LocalProgram
from neelc.engines.local.results import row_values
from neelc.engines.local.tables import LocalTable
from neelc.files import whole_file, write_whole
from neelc.ir.program import NamedQuery, Program
from neelc.pattern.bind.partial import COMPLETE, STOPPED
from neelc.pipeline import compile_query
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import Result
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation
from neelc.source import Source
from neelc.tools.result_text import LINES, as_table

if TYPE_CHECKING:
    import pyarrow as pa

    from neelc.arguments import Options
    from neelc.catalog.statistics.numbers import Statistics
    from neelc.engines.local.work import WorkState
    from neelc.engines.spark.compiled import CompiledScript
    from neelc.pattern.cost.gathering import StreamQuestions


@dataclass(frozen=True)
class LocalJob:
    """The queries of a script whose rows are requested, and the data that they read."""

    inputs: Inputs
    program: Program
    queries: tuple[tuple[NamedQuery, CompiledScript, LocalProgram], ...]
    tables: Mapping[str, LocalTable]
    calls: Mapping[str, EvaluatedCall]
    asked: Mapping[str, StreamQuestions]
    """What is counted of the streams, for --stats-out."""
    report: EngineReport | None = None

    def frames(self, engine: LocalEngine) -> list[LocalFrame]:
        """The rows of each query: nothing has run yet."""
        return [
            LocalFrame.of(engine.run(made, self.tables, compiled.aggregates))
            for _, compiled, made in self.queries
        ]

    def page(self, engine: LocalEngine, progress: Progress) -> str | None:
        """The report, if one is requested. It finds the matches once more, with all of their events."""
        if self.report is None:
            return None
        from neelc.api.local_drawing import LocalDrawing

        progress.begin("drawing the report")
        return self.report.page(LocalDrawing(engine), stream_frames(engine, self.tables, self.calls))

    def notes(self, frames: Sequence[LocalFrame]) -> Iterator[str]:
        """What is noticed about the events."""
        from neelc.engines.local.noticing import ties_seen

        positions = [self.program.queries.index(named) for named, _, _ in self.queries]
        runs = [frame.run for frame in frames]
        yield from type_notes(self.program, positions, runs)
        yield from tie_note(max((ties_seen(run) for run in runs), default=0), self.program)

    def statistics(self, frames: Sequence[LocalFrame]) -> str:
        """What is counted of the streams and of the queries, as a file has it."""
        from neelc.api.gathering import statistics_of_runs
        from neelc.api.local_observed import LocalObservations
        from neelc.pattern.cost.gathering import query_name

        runs = (
            (
                query_name(self.program, self.program.queries.index(named)),
                LocalObservations(compiled, _among(self.asked, compiled), frame.run),
            )
            for (named, compiled, _), frame in zip(self.queries, frames, strict=True)
        )
        return statistics_of_runs(runs).text


def _among(asked: Mapping[str, StreamQuestions], compiled: CompiledScript) -> dict[str, StreamQuestions]:
    """What is asked about the streams that a script reads."""
    return {name: one for name, one in asked.items() if name in compiled.reads}


def type_notes(program: Program, positions: Sequence[int], runs: Sequence[LocalRun]) -> Iterator[str]:
    """Types that no event has, and streams without events."""
    from neelc.engines.local.noticing import types_seen

    used = used_types(program)
    seen: dict[str, TypesSeen] = {}
    for name, stream in streams_read(program, positions).items():
        found = (types_seen(run, stream, used.get(name, ())) for run in runs)
        known = next((one for one in found if one is not None), None)
        seen |= {} if known is None else {name: known}
    return missing_types(program, seen)


def run_local(source: Source, kind: str, options: argparse.Namespace) -> int:
    """Run a script; gives the exit code."""
    start = time.perf_counter()
    try:
        with stoppable(), Progress(sys.stderr) as progress:
            progress.begin("reading the script")
            job = local_job(source, options)
            engine = LocalEngine(options.timezone or "UTC")
            with without_pandas(options):
                page = job.page(engine, progress)  # before anything is written
                frames = job.frames(engine)
                progress.begin(
                    "finding matches", lambda: progress_of(frames, time.perf_counter() - progress.begun)
                )
                tally = _written(job, frames, kind, options, progress)
                notes = list(job.notes(frames))
                notes += _end_notes(job, engine, frames, tally, options)
                if options.stats_out:
                    write_whole(Path(options.stats_out), job.statistics(frames))
    except KeyboardInterrupt as stop:
        return stopped(stop)
    write_report(options.report, page)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    seconds = time.perf_counter() - start
    how = ", ".join(dict.fromkeys(name for _, one, _ in job.queries for _, name in one.strategies))
    unit = unit_of(named.query for named, _, _ in job.queries)
    print(f"{counted(tally, unit)} in {seconds:.2f} s (local engine: {how})", file=sys.stderr)
    return 0


def _end_notes(
    job: LocalJob,
    engine: LocalEngine,
    frames: Sequence[LocalFrame],
    tally: RowTally,
    options: argparse.Namespace,
) -> Iterator[str]:
    """What the end of the data decides; not of large data, which would be read once more."""
    if any(table.size.is_large for table in job.tables.values()):
        return

    def count(program: Program, place: int) -> int:
        statistics = statistics_of(job.inputs, program, options.stats)
        zone = options.timezone or "UTC"
        other = planned_job(job.inputs, program, [place], options_in(options), statistics, zone)
        return other.frames(engine)[0].count()

    for (named, _, _), frame in zip(job.queries, frames, strict=True):
        place = job.program.queries.index(named)
        if with_complete(job.program, place) is not None:
            rows = tally.rows if len(frames) == 1 else frame.count()
            yield from end_note(job.program, place, rows, count)


def progress_of(frames: Sequence[LocalFrame], seconds: float) -> PhaseProgress | None:
    """How far the kernel is that runs."""
    state = next((state for frame in frames if (state := frame.run.work()) is not None), None)
    return None if state is None else progress_of_work(state, seconds)


def progress_of_work(state: WorkState, seconds: float) -> PhaseProgress:
    """How far a kernel is. While it searches all that it has read, nobody knows how long that takes.

    >>> from neelc.engines.local.work import WorkState
    >>> progress_of_work(WorkState(0.25, 500_000, 20), 5)
    PhaseProgress(share=0.25, words=('500,000 events read (100,000/s)', '20 matches'))
    >>> progress_of_work(WorkState(1.0, 2_000_000, 0, True), 5)
    PhaseProgress(share=None, words=('2,000,000 events read (400,000/s)', 'searching'))
    """
    is_open = state.is_searching and not 0 < state.share < 1
    words = (*rows_words(state.read, state.found, seconds), *(["searching"] if state.is_searching else []))
    return PhaseProgress(None if is_open else state.share, words)


def without_pandas(options: argparse.Namespace) -> AbstractContextManager[None]:
    """In a process of a command, Arrow does not load pandas; a user's functions may need it."""
    return hidden_pandas() if options.own_process and not options.aggregates else nullcontext()


def local_job(source: Source, options: argparse.Namespace) -> LocalJob:
    """The script, bound and compiled; raises `NeelError`."""
    inputs, program = bound(source, options, lambda _: describing_locally)
    positions = chosen(program, options.query)
    refuse_unused(inputs, program, options)
    refuse_for_rows("run", program, positions, options)
    statistics = statistics_of(inputs, program, options.stats)
    drawn = report_request(inputs, program, positions, options)
    asked: Mapping[str, StreamQuestions] = {}
    if options.stats_out:
        from neelc.pattern.cost.gathering import questions

        asked = questions(program, positions)
    zone = options.timezone or "UTC"
    job = planned_job(inputs, program, positions, options_in(options), statistics, zone, asked)
    settle_on_local(options, job.tables)
    print_warnings(program, source)
    for note in unit_notes(inputs, program):
        print(f"note: {note}", file=sys.stderr)
    report = None if drawn is None else EngineReport(drawn, options_in(options), statistics)
    return replace(job, report=report)


def planned_job(
    inputs: Inputs,
    program: Program,
    positions: Sequence[int],
    options: Options,
    statistics: Statistics,
    zone: str,
    asked: Mapping[str, StreamQuestions] | None = None,
) -> LocalJob:
    """The queries at these places, compiled; raises `NeelError`, or `SparkNeeded`. `asked` is counted of the
    streams."""
    calls: dict[str, EvaluatedCall] = {}
    streams = streams_read(program, positions)
    check_is_here(inputs, streams)
    tables = local_tables(inputs, streams, {}, calls, zone)
    types = {name: table.types for name, table in tables.items()}
    queries = []
    for place in positions:
        compiled = compile_query(program, place, inputs.source, options, statistics)
        if asked:
            from neelc.engines.spark.observing import observed_script

            compiled = observed_script(compiled, _among(asked, compiled))
        try:
            made = local_program(compiled.relations, types, calls)
        except UnspelledOperation as error:
            raise unspelled(error, program, place, inputs.source) from None
        queries.append((program.queries[place], compiled, made))
    return LocalJob(inputs, program, tuple(queries), tables, calls, asked or {})


def stream_frames(
    engine: LocalEngine, tables: Mapping[str, LocalTable], calls: Mapping[str, EvaluatedCall]
) -> dict[str, LocalFrame]:
    """The rows of streams."""
    return {name: LocalFrame.of_stream(engine, name, table, calls.values()) for name, table in tables.items()}


# The rows, as text or as files.


def _written(
    job: LocalJob, frames: Sequence[LocalFrame], kind: str, options: argparse.Namespace, progress: Progress
) -> RowTally:
    if kind == "parquet":
        (frame,) = frames
        return RowTally(frame.write_file(options.output, kind, options.overwrite))
    if options.output is None:
        return _printed(job, frames, kind, sys.stdout, progress)
    with whole_file(Path(options.output)) as out:
        return _printed(job, frames, kind, out, progress)


def _printed(
    job: LocalJob, frames: Sequence[LocalFrame], kind: str, out: TextIO, progress: Progress
) -> RowTally:
    tally = RowTally()
    for place, ((named, _, _), frame) in enumerate(zip(job.queries, frames, strict=True)):
        title = ("\n" if place else "") + f"{named.name or 'query'}:\n" if len(frames) > 1 else ""
        starts = STOPPED if has_starts(named.query) else None
        count, stopped_by = print_frame(frame, kind, out, progress, title, named.is_ordered, starts)
        tally += RowTally(count, stopped_by[COMPLETE])
    return tally


def print_frame(
    frame: LocalFrame,
    kind: str,
    out: TextIO,
    progress: Progress,
    title: str = "",
    is_ordered: bool = False,
    counted: str | None = None,
) -> tuple[int, Counter[str]]:
    """Write rows as text: sorted, unless they are `is_ordered`, or many. Gives how many there are, and how
    often each value of the column `counted` occurs. Of many rows, a batch is in memory at a time."""
    by_value = Counter[str]()
    held: list[pa.RecordBatch] = []
    count, columns = 0, frame.typed_columns
    batches = _counting(frame.native_batches(), counted, by_value)
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if kind != "table" and count > ROWS_IN_ORDER:
            break
    progress.pause()  # a line about progress must not stand among the rows on a terminal
    out.write(title)
    if kind != "table" and (is_ordered or count > ROWS_IN_ORDER):
        more = CountedBatches(chain(held, batches))
        out.writelines(COLUMN_LINES[kind](columns, more))
        return more.count, by_value
    rows = list(row_values(held, frame.with_json().types))
    if kind == "table":
        out.write(as_table(Result(columns, rows, is_ordered=is_ordered)))
    else:
        out.writelines(LINES[kind](columns, in_order(rows)))
    return count, by_value


def _counting(
    batches: Iterable[pa.RecordBatch], name: str | None, counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if name is not None:
            found = batch.column(name).value_counts()
            counts.update({str(one["values"]): one["counts"].as_py() for one in found})
        yield batch
