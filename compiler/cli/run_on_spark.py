"""`neelc run` on Spark: compile, start a session, find the matches, write them."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from neelc.api.analysis import analysing, check_session, describing
from neelc.api.errors import run_error
from neelc.api.gathering import RunObservations, WrittenStatistics, statistics_of_runs
from neelc.api.observed import StreamObservations
from neelc.api.query import run_source
from neelc.api.schemas import clock_of, columns_of, values_of
from neelc.api.shipping import shipped
from neelc.api.spark_session import NoSpark, counting, session
from neelc.api.streams import streams_read
from neelc.catalog.data_files import is_url
from neelc.catalog.data_warnings import missing_types, peeked_types, seen_in_files, unit_notes, used_types
from neelc.catalog.inputs import Inputs, in_order, location_of
from neelc.catalog.statistics.numbers import Statistics
from neelc.cli.compile import WAY_OUT, options_in
from neelc.cli.engine import KNOWN_TO_SPARK
from neelc.cli.options import (
    bound,
    check_data,
    chosen,
    frames_of,
    located,
    print_warnings,
    refuse_for_rows,
    refuse_unused,
    settings_of,
    statistics_of,
    with_timezone,
)
from neelc.cli.output import whole_directory
from neelc.cli.progress import Progress, Stages
from neelc.cli.report import EngineReport, RulesReport, report_request, write_report
from neelc.cli.run import (
    IS_COMPLETE,
    ROWS_IN_ORDER,
    RowTally,
    counted,
    has_starts,
    stoppable,
    stopped,
    unit_of,
)
from neelc.engines.spark.observing import observed_script
from neelc.errors import NeelError
from neelc.files import whole_file, write_whole
from neelc.ir.bound_rows import HostQuery
from neelc.ir.program import Column, NamedQuery, Program, Stream
from neelc.pattern.cost.gathering import query_name, questions
from neelc.pipeline import compile_query
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import Result
from neelc.tools.result_text import LINES, as_table

if TYPE_CHECKING:
    from neelc.engines.spark.compiled import CompiledScript
    from neelc.rows.bind.host import Describe
    from neelc.source import Source

# The rows of a DataFrame as text, or as Parquet files.


def print_rows(
    frame: Any,
    columns: Sequence[Column],
    kind: str,
    out: TextIO,
    title: str,
    progress: Progress,
    is_ordered: bool = False,
    has_starts: bool = False,
    counts: Counter[str] | None = None,
) -> RowTally:
    """Write the rows to a text; returns their number. `is_ordered`: keep their order; `has_starts`: also
    count the complete ones. `counts` are those of the values of the first column.

    They are found by all tasks at once and kept by Spark: they need not fit into this process, unless they go
    into a table, whose columns are as wide as their widest cell.
    """
    kept = frame.persist()
    try:
        count = int(kept.count())
        complete = int(kept.where(IS_COMPLETE).count()) if has_starts else 0
        progress.begin("writing the rows")
        few = count <= ROWS_IN_ORDER or kind == "table"
        rows: Iterable[tuple[object, ...]]
        rows = values_of(kept.collect() if few else kept.toLocalIterator(prefetchPartitions=True), columns)
        rows = rows if counts is None else _counting(rows, counts)
        progress.pause()  # a line about progress must not stand among the rows on a terminal
        out.write(title)
        if kind == "table":
            out.write(as_table(Result(tuple(columns), list(rows), is_ordered=is_ordered)))
        else:
            out.writelines(LINES[kind](columns, in_order(rows) if few and not is_ordered else rows))
        return RowTally(count, complete)
    finally:
        with suppress(Exception):
            kept.unpersist()


def _counting(rows: Iterable[tuple[object, ...]], counts: Counter[str]) -> Iterator[tuple[object, ...]]:
    for row in rows:
        counts[str(row[0])] += 1
        yield row


def write_parquet(frame: Any, path: str, overwrite: bool, has_starts: bool = False) -> RowTally:
    """Let Spark write the rows; gives their number."""
    counted, count = counting(frame)
    counted, complete = counting(counted, IS_COMPLETE) if has_starts else (counted, int)
    counted.write.mode("overwrite" if overwrite else "errorifexists").parquet(path)
    return RowTally(count(), complete())


@dataclass(frozen=True)
class RequestedQuery:
    """A query whose rows are requested, compiled."""

    named: NamedQuery
    compiled: CompiledScript
    observed: RunObservations | None = None


@dataclass(frozen=True)
class QueryRows:
    """The rows of a query: their DataFrame. `is_ordered`: the order is the query's own. `has_starts`: each
    row is a start of WITH PARTIAL MATCHES."""

    name: str | None
    columns: tuple[Column, ...]
    frame: Any
    is_ordered: bool = False
    has_starts: bool = False


@dataclass(frozen=True)
class Job:
    """What is to run, and where its rows go: `output` None is standard output."""

    inputs: Inputs
    queries: tuple[RequestedQuery, ...]
    streams: Mapping[str, Stream]
    kind: str
    output: str | None
    overwrite: bool
    program: Program
    report: EngineReport | None = None
    statistics_out: str | None = None

    def found(self, spark: Any, frames: Mapping[str, Any]) -> list[QueryRows]:
        """The rows of each requested query."""
        return [self._rows(one, spark, frames) for one in self.queries]

    def _rows(self, one: RequestedQuery, spark: Any, frames: Mapping[str, Any]) -> QueryRows:
        query = one.named.query
        with analysing(query, self.inputs.source) as bounded:
            observed = None if one.observed is None else one.observed.by_key
            frame = bounded(run_source(one.compiled.source, spark, frames, one.compiled.aggregates, observed))
        if not isinstance(query, HostQuery):
            columns, is_ordered = query.columns, one.named.is_ordered
            return QueryRows(one.named.name, columns, frame, is_ordered, has_starts(query))
        frame = _with_texts(frame)
        return QueryRows(one.named.name, columns_of(frame.schema), frame, one.named.is_ordered)

    def write(
        self, spark: Any, frames: Mapping[str, Any], target: TextIO | str, progress: Progress
    ) -> RowTally:
        """Find the rows and write them."""
        found = self.found(spark, frames)
        if isinstance(target, str):
            return write_parquet(found[0].frame, target, self.overwrite, found[0].has_starts)
        tally = RowTally()
        for place, one in enumerate(found):
            title = "" if len(found) == 1 else ("\n" if place else "") + f"{one.name or 'query'}:\n"
            tally += print_rows(
                one.frame, one.columns, self.kind, target, title, progress, one.is_ordered, one.has_starts
            )
        return tally

    def summary(self, tally: Any) -> str:
        """How much was found, in words."""
        return counted(tally, unit_of(one.named.query for one in self.queries))

    def details(self, _: Any) -> Iterator[str]:
        """Nothing follows the summary."""
        return iter(())

    def statistics(self, _: Any) -> WrittenStatistics | None:
        """What was counted in passing, if that is asked for: of all requested queries together."""
        if self.statistics_out is None:
            return None
        return statistics_of_runs(
            (query_name(self.program, self.program.queries.index(one.named)), one.observed)
            for one in self.queries
            if one.observed is not None
        )

    @property
    def strategies(self) -> str:
        return ", ".join(dict.fromkeys(name for one in self.queries for _, name in one.compiled.strategies))


class SparkJob(Protocol):
    """What can run on Spark: a script, or many rules. What `write` returns is for `summary` and `details`."""

    @property
    def inputs(self) -> Inputs: ...
    @property
    def program(self) -> Program: ...
    @property
    def streams(self) -> Mapping[str, Stream]: ...
    @property
    def report(self) -> EngineReport | RulesReport | None: ...
    @property
    def statistics_out(self) -> str | None: ...
    @property
    def strategies(self) -> str: ...
    def write(
        self, spark: Any, frames: Mapping[str, Any], target: TextIO | str, progress: Progress
    ) -> Any: ...
    def summary(self, tally: Any) -> str: ...
    def statistics(self, tally: Any, /) -> WrittenStatistics | None: ...
    def details(self, tally: Any) -> Iterator[str]: ...


def _with_texts(frame: Any) -> Any:
    """The rows of Spark's own SQL: values without a form here become texts."""
    names = {column.name for column in columns_of(frame.schema)}
    if len(names) == len(frame.columns):
        return frame
    return frame.selectExpr(
        *(f"`{name}`" if name in names else f"CAST(`{name}` AS STRING) AS `{name}`" for name in frame.columns)
    )


def run_on_spark(source: Source, kind: str, options: argparse.Namespace) -> int:
    settings = with_timezone(settings_of(options.conf), options.timezone)
    job: Job | None = None
    try:
        job = _job(source, kind, options)
    except NeelError as error:
        if any(one.code != KNOWN_TO_SPARK for one in error.diagnostics):
            raise
    return run_job(lambda spark: job or _job(source, kind, options, spark), kind, options, settings)


def _job(source: Source, kind: str, options: argparse.Namespace, spark: Any = None) -> Job:
    """The script, bound and compiled; `spark` supplies what is not known without it."""

    def describe(inputs: Inputs) -> Describe:
        return describing(spark, lambda stream: frames_of(spark, inputs, {stream.name: stream})[stream.name])

    inputs, program = bound(source, options, None if spark is None else describe)
    positions = chosen(program, options.query)
    refuse_unused(inputs, program, options)
    refuse_for_rows("run", program, positions, options)
    print_warnings(program, source)
    for note in unit_notes(inputs, program):
        print(f"note: {note}", file=sys.stderr)
    program = located(program, inputs.directory.resolve())
    statistics = statistics_of(inputs, program, options.stats)
    queries = _requested_queries(inputs, program, positions, options, statistics)
    streams = streams_read(program, positions)
    check_data(inputs, streams)
    drawn = report_request(inputs, program, positions, options)
    report = None if drawn is None else EngineReport(drawn, options_in(options), statistics)
    out = options.stats_out
    return Job(inputs, queries, streams, kind, options.output, options.overwrite, program, report, out)


def run_job(
    prepare: Callable[[Any], SparkJob], kind: str, options: argparse.Namespace, settings: Mapping[str, str]
) -> int:
    """Run a job, which `prepare` makes, in a session of its own; gives the exit code."""
    start = time.perf_counter()
    try:
        with stoppable(), Progress(sys.stderr) as progress:
            progress.begin("starting Spark")
            starting = session(options.master, options.remote, settings)
            starting = shipped(starting) if options.ship else starting
            job, tally, seconds, notes = _run(prepare, kind, options, progress, starting)
    except NoSpark as error:
        print(f"neelc: Spark cannot be started: {error}", file=sys.stderr)
        print("`neelc doctor` looks for the reason; --engine local does without Spark", file=sys.stderr)
        return 3
    except KeyboardInterrupt as stop:
        return stopped(stop)
    beside = time.perf_counter() - start - seconds
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    summary, how = f"{job.summary(tally)} in {seconds:.2f} s", job.strategies
    print(f"{summary} (spark engine: {how}; {beside:.1f} s for starting and stopping Spark)", file=sys.stderr)
    for line in job.details(tally):
        print(line, file=sys.stderr)
    return 0


def _requested_queries(
    inputs: Inputs,
    program: Program,
    positions: Sequence[int],
    options: argparse.Namespace,
    statistics: Statistics,
) -> tuple[RequestedQuery, ...]:
    found = []
    for at in positions:
        query = program.queries[at]
        compiled = compile_query(program, at, inputs.source, options_in(options), statistics, WAY_OUT)
        if options.stats_out is None:
            found.append(RequestedQuery(query, compiled))
            continue
        asked = questions(program, positions)
        read = {name: one for name, one in asked.items() if name in compiled.reads}
        compiled = observed_script(compiled, read)
        found.append(RequestedQuery(query, compiled, RunObservations(compiled, read)))
    return tuple(found)


def _run(
    prepare: Callable[[Any], SparkJob],
    kind: str,
    options: argparse.Namespace,
    progress: Progress,
    starting: Any,
) -> tuple[SparkJob, Any, float, tuple[str, ...]]:
    """What was run, how many rows were found and written, in how many seconds, and what was noticed.

    The session ends before the output: what is removed after a failure must not be written to any more.
    """
    with _target(options.output, kind) as target, starting as spark, clock_of(spark):
        start = time.perf_counter()
        progress.begin("finding matches", Stages(spark))
        try:
            job = prepare(spark)
            if options.untrusted:
                check_session(spark, job.program)
            observed = StreamObservations(used_types(job.program))
            frames = frames_of(spark, job.inputs, job.streams, observed)
            tally = job.write(spark, frames, target, progress)
            notes = tuple(_notes(job, observed))
            statistics = job.statistics(tally)
            page = _page(job, spark, frames, progress)
        except Exception as error:
            failure = None if isinstance(error, NeelError) else run_error(error)
            if failure is None:
                raise
            raise failure from None
        finally:
            seconds = time.perf_counter() - start
            progress.begin("stopping Spark")
    if job.report is not None:
        write_report(job.report.path, page)
    if statistics is not None and job.statistics_out is not None:
        write_whole(Path(job.statistics_out), statistics.text)
        notes = (*notes, *statistics.notes)
    return job, tally, seconds, notes


def _notes(job: SparkJob, observed: StreamObservations) -> Iterator[str]:
    """Notes on the events that were read: observed in texts, looked up in Parquet files."""
    seen = observed.types()
    for name, stream in job.streams.items():
        location = location_of(job.inputs, name)
        if location is None or is_url(location.name) or not stream.type_column:
            continue
        if name in seen and seen[name].absent:
            seen[name] = replace(seen[name], others=peeked_types(location, stream))
        elif name not in seen:
            found = seen_in_files(job.inputs, stream, observed.used.get(name, ()))
            seen |= {} if found is None else {name: found}
    yield from missing_types(job.program, seen)


def _page(job: SparkJob, spark: Any, frames: Mapping[str, Any], progress: Progress) -> str | None:
    """The report of a run, if one is requested. It finds the matches once more, with all of their events."""
    if job.report is None:
        return None
    from neelc.api.timeline import SparkDrawing

    progress.begin("drawing the report", Stages(spark))
    return job.report.page(SparkDrawing(spark), frames)


@contextmanager
def _target(output: str | None, kind: str) -> Iterator[TextIO | str]:
    """What the rows are written to: a text, or the path of a directory that Spark writes."""
    if output is None:
        yield sys.stdout
    elif is_url(output):
        yield output
    elif kind == "parquet":
        with whole_directory(Path(output)) as directory:
            yield str(directory)
    else:
        with whole_file(Path(output)) as file:
            yield file
