"""`neelc run`: the matches of a script."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from neelc.cli.engine import add_engine, on_local_or_spark
from neelc.cli.options import (
    OF_PLANS,
    add_inputs,
    add_rules,
    add_spark,
    add_statistics,
    add_statistics_out,
    add_strategy,
    add_timezone,
    check_statistics_out,
    has_rules,
    refuse_spark,
)
from neelc.cli.output import check_output, format_of
from neelc.cli.report import add_report, check_report, report_request, write_report
from neelc.errors import NeelError
from neelc.files import CallError, read_source, write_whole
from neelc.runtime.late_dataclass import dataclass

if TYPE_CHECKING:
    from neelc.ir.algebra import Algebra
    from neelc.ir.bound_rows import HostQuery
    from neelc.ir.program import Match, Program
    from neelc.runtime.reference import Result, Tables
    from neelc.source import Source

# How much a run has found, in words.

ROWS_IN_ORDER = 100_000
"""Up to this many rows are sorted, as the reference interpreter prints them; more come as they are found."""

IS_COMPLETE = "stopped = 'complete'"
"""The condition for Spark that selects complete matches among the starts of WITH PARTIAL MATCHES."""


@dataclass(frozen=True)
class RowTally:
    """How many rows there are; where they are starts, how many of them are complete matches."""

    rows: int = 0
    complete: int = 0

    def __add__(self, other: RowTally) -> RowTally:
        return RowTally(self.rows + other.rows, self.complete + other.complete)


def unit_of(queries: Iterable[Match | Algebra | HostQuery]) -> str:
    """What the rows of these queries are: matches, starts, or just rows."""
    from neelc.ir.bound_rows import HostQuery

    units = {
        "row"
        if isinstance(query, HostQuery) or query.aggregated
        else "start"
        if has_starts(query)
        else "match"
        for query in queries
    }
    return units.pop() if len(units) == 1 else "row"


def has_starts(query: Match | Algebra | HostQuery) -> bool:
    """Whether each row is a start, as WITH PARTIAL MATCHES has it; DISTINCT rows may stand for several."""
    from neelc.ir.program import Match

    return isinstance(query, Match) and query.partial is not None and not query.distinct


def counted(tally: RowTally, unit: str) -> str:
    """
    >>> counted(RowTally(1), "match"), counted(RowTally(6000), "match"), counted(RowTally(2), "row")
    ('1 match', '6,000 matches', '2 rows')
    >>> counted(RowTally(3, complete=1), "start")
    '3 starts, 1 complete'
    """
    ending = "" if tally.rows == 1 else "es" if unit == "match" else "s"
    complete = f", {tally.complete:,} complete" if unit == "start" else ""
    return f"{tally.rows:,} {unit}{ending}{complete}"


DESCRIPTION = """Run a script and print the rows of its last query, or write them to a file. Given several
scripts, a directory or --all, run all queries together and return one table with the rule, key, times and
columns of each match. The local engine reads data on this machine and needs no Java; Spark reads remote or
very large data. Rows go to standard output, messages to standard error."""

EXAMPLES = """examples:
  neelc run hospital.neel
  neelc run hospital.neel --out alarms.parquet
  neelc run hospital.neel --engine spark --format csv
  neelc run rising.neel --stream Trades=trades.csv,timestamp=ts,type=ticker,unit=s --arg w='10 SECONDS'
  neelc run hospital.neel --report alarms.html
  neelc run rules/ --stream Bank=bank.parquet --out alarms.parquet
  neelc run rules.neel --all --query Burst --query Unconfirmed
  neelc run network.neel --query Alarms --master 'local[4]' --conf spark.driver.memory=8g
"""

FORMATS = ("table", "csv", "json", "parquet")


def add(parser: argparse.ArgumentParser) -> None:
    add_rules(parser)
    add_engine(parser)
    add_inputs(parser)
    parser.add_argument(
        "-o",
        "--out",
        "--output",
        dest="output",
        metavar="PATH",
        help="write to this file (a directory for Parquet) in the format of its extension; - is stdout",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="table, csv, json (one object per line) or parquet (default: table)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing --out")
    parser.add_argument(
        "--query",
        metavar="NAME",
        action="append",
        default=[],
        help="return the rows of this query or rule (repeatable)",
    )
    add_timezone(parser)
    add_report(parser)
    add_statistics_out(parser)
    spark = add_spark(parser)
    spark.add_argument("--ship", action="store_true", help="send the runtime to workers that have no neelc")
    add_strategy(spark)
    add_statistics(spark)


def run(options: argparse.Namespace) -> int:
    if options.output == "-":
        options.output = None
    kind = options.format or format_of(options.output)
    is_many = has_rules(options)
    if kind != "table" and len(options.query) > 1 and not is_many:
        raise CallError(
            f"run --format {kind}: the rows of one query only, here are {len(options.query)}; "
            "--all puts the rows of several into one table"
        )
    if options.engine == "reference":
        _refuse_settings_of_spark(options, kind)
    if options.engine == "local":
        refuse_spark("run", options, "ship")
    check_output(options.output, kind, options.overwrite)
    check_report(options)
    check_statistics_out(options)
    from neelc.runtime.values.times import in_zone

    try:
        # On Spark it is the session's, once there is one.
        with in_zone(options.timezone or "UTC"):
            if is_many:
                from neelc.cli.run_rules import run_rules

                return run_rules(kind, options)
            source = read_source(options.files[0])
            if options.engine == "reference":
                return _run(source, kind, options)
            if options.engine == "local":
                return _run_locally(source, kind, options)
            if options.engine == "spark":
                return _run_on_spark(source, kind, options)
            return on_local_or_spark(
                options,
                lambda: _run_locally(source, kind, options),
                lambda: _run_on_spark(source, kind, options),
            )
    except NeelError as error:
        print(error, file=sys.stderr)
        # What is wrong with the data, or too much for the engine, is not the query's fault.
        return 3 if all(code.startswith("NEEL5") for code in codes_of([error])) else 1


def stopped(stop: KeyboardInterrupt) -> int:
    """Say that a run was stopped; gives the exit code."""
    print("neelc: stopped; nothing was written", file=sys.stderr)
    return 128 + (stop.args[0] if stop.args else signal.SIGINT)


def codes_of(errors: Iterable[NeelError]) -> set[str]:
    """The codes of all that is wrong, with all rules."""
    each = (one for error in errors for one in getattr(error, "errors", [error]))
    return {diagnostic.code for one in each for diagnostic in one.diagnostics}


@contextmanager
def stoppable() -> Iterator[None]:
    """Whoever ends the process with SIGTERM, as schedulers do, leaves as little behind as with Ctrl-C."""

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_locally(source: Source, kind: str, options: argparse.Namespace) -> int:
    from neelc.cli.run_local import run_local

    return run_local(source, kind, options)


def _run_on_spark(source: Source, kind: str, options: argparse.Namespace) -> int:
    from neelc.cli.run_on_spark import run_on_spark

    return run_on_spark(source, kind, options)


def _refuse_settings_of_spark(options: argparse.Namespace, kind: str) -> None:
    refuse_spark("run", options, "ship", *OF_PLANS)
    if kind == "parquet":
        raise CallError("run --engine reference: Parquet is for the other engines; use csv, json or table")


def _run(source: Source, kind: str, options: argparse.Namespace) -> int:
    from neelc.catalog.data_warnings import missing_types, seen_in_tables, unit_notes
    from neelc.catalog.inputs import read
    from neelc.cli.ending import end_note
    from neelc.cli.options import bound, chosen, print_warnings, refuse_unused
    from neelc.cli.progress import Progress
    from neelc.engines.reference import executable, execute
    from neelc.tools.result_text import written

    inputs, program = bound(source, options)
    positions = chosen(program, options.query)
    refuse_unused(inputs, program, options)
    print_warnings(program, source)
    program = executable(program, positions, source)
    report = report_request(inputs, program, positions, options)
    start = time.perf_counter()
    with Progress(sys.stderr) as progress:
        progress.begin("reading events")
        tables, failures = read(inputs, program)
        if not failures:
            progress.begin(f"finding matches among {sum(map(len, tables.values())):,} events")
            needed = program.needed(positions)
            answers = dict(zip(needed, execute(inputs, program, tables, needed), strict=True))
            results = [answers[place] for place in positions]
    if failures:
        print(*failures, sep="\n\n", file=sys.stderr)
        return 3
    seconds = time.perf_counter() - start
    text = written(results, kind)
    page = None if report is None else report.on_reference(tables)
    if options.output:
        write_whole(Path(options.output), text)
    else:
        sys.stdout.write(text)
    write_report(options.report, page)
    if options.stats_out:
        _write_statistics(program, positions, tables, answers, options.stats_out)
    types = missing_types(program, seen_in_tables(program, tables))

    def count(other: Program, place: int) -> int:
        return len(execute(inputs, other, tables, [place])[0][1].rows)

    sizes = [(place, len(answers[place][1].rows)) for place in positions]
    ends = (note for place, rows in sizes for note in end_note(program, place, rows, count))
    for note in (*types, *unit_notes(inputs, program, tables), *ends):
        print(f"note: {note}", file=sys.stderr)
    summary = counted(*_tally(program, positions, [result for _, result in results]))
    print(f"{summary} in {seconds:.2f} s (reference engine)", file=sys.stderr)
    return 0


def _write_statistics(
    program: Program,
    positions: Sequence[int],
    tables: Tables,
    answers: Mapping[int, tuple[str | None, Result]],
    path: str,
) -> None:
    from neelc.engines.reference_counts import counted_in_tables
    from neelc.pattern.cost.gathering import query_name, questions, statistics_json

    asked = questions(program, positions)
    rows = {query_name(program, place): len(result.rows) for place, (_, result) in answers.items()}
    write_whole(Path(path), statistics_json(asked, counted_in_tables(asked, tables), rows))


def _tally(program: Program, positions: Sequence[int], results: Sequence[Result]) -> tuple[RowTally, str]:
    """How many rows these queries have, and what a row is."""
    from neelc.pattern.bind.partial import COMPLETE, STOPPED

    queries = [program.queries[at].query for at in positions]
    tally = RowTally()
    for query, result in zip(queries, results, strict=True):
        stopped = [column.name for column in result.columns].index(STOPPED) if has_starts(query) else None
        complete = sum(stopped is not None and row[stopped] == COMPLETE for row in result.rows)
        tally += RowTally(len(result.rows), complete)
    return tally, unit_of(queries)
