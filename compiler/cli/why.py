"""`neelc why`: why a start event has a match, or has none."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.catalog.inputs import Inputs
from neelc.cli.engine import add_engine, check_is_here, on_local_or_spark, settle_on_local
from neelc.cli.options import TIME_ZONE, add_inputs, add_spark, add_timezone, refuse_spark, settings_of
from neelc.cli.output import STANDARD, check_page, check_target, put
from neelc.errors import NeelError
from neelc.explain.report import written_queries
from neelc.files import read_source
from neelc.runtime.reference import Tables
from neelc.tools.report.drawing import DrawnQuery, reference_picture
from neelc.tools.report.page import report_page
from neelc.tools.report.rows import clause_picture
from neelc.tools.why.explaining import rows_looked_at
from neelc.tools.why.model import Why
from neelc.tools.why.reading import WhyRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neelc.ir.program import Program, Stream
    from neelc.scalar.duckdb.pieces import EvaluatedCall
    from neelc.source import Source
    from neelc.tools.why.rows import RowsRequest
    from neelc.tools.why.temporal import SituationsRequest

DESCRIPTION = """For each event that could start a match, show the last step reached, the condition, window or
negation that stopped it, and the smallest change to the query that would make it match. For an event that
starts a match, show the match and what was checked."""

EXAMPLES = """examples:
  neelc why hospital.neel --key scalpel-1
  neelc why hospital.neel --key id=scalpel-1 --between '2024-03-01 08:00:00' '2024-03-01 09:00:00'
  neelc why hospital.neel --key scalpel-1 --format json
"""

WITHOUT_SPARK = ("local", "reference")

COLOURS = {"key": "1", "good": "32", "bad": "31", "open": "33", "proposal": "36", "note": "2"}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a script; - is standard input")
    parser.add_argument(
        "--key",
        metavar="[NAME=]VALUE",
        action="append",
        default=[],
        help="look only at the events of this key (repeatable)",
    )
    parser.add_argument(
        "--between",
        nargs=2,
        metavar=("FROM", "TO"),
        help="only start events between these times, inclusive",
    )
    parser.add_argument("--query", metavar="NAME", help="explain this query (default: the last one)")
    parser.add_argument("--format", choices=("text", "json"), help="output format (default: text)")
    parser.add_argument(
        "-o",
        "--out",
        "--output",
        dest="output",
        metavar="PATH",
        help="write to this file, as JSON if it ends in .json; - is standard output",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="also write an HTML page with the events and their explanations"
    )
    add_engine(parser)
    add_inputs(parser)
    add_timezone(parser)
    add_spark(parser)


def run(options: argparse.Namespace) -> int:
    source = read_source(options.file)
    if options.engine in WITHOUT_SPARK:
        refuse_spark("why", options)
    check_target("why --out", options.output, options.file)
    check_page("why --report", options.report, options.file)
    from neelc.runtime.values.times import in_zone

    # The requested times are read before there is a session.
    zone = options.timezone or settings_of(options.conf).get(TIME_ZONE) or "UTC"
    try:
        with in_zone(zone):
            return _run(source, options)
    except NeelError as error:
        print(error, file=sys.stderr)
        # What is wrong with the data, or too much to look at, is not the query's fault.
        return 3 if all(diagnostic.code.startswith("NEEL5") for diagnostic in error.diagnostics) else 1


def _run(source: Source, options: argparse.Namespace) -> int:
    from neelc.api.why import rows_of_pattern
    from neelc.cli.options import bound, chosen, refuse_unused
    from neelc.engines.reference import executable
    from neelc.ir.bound_rows import HostQuery
    from neelc.tools.why.explaining import ROWS_IT_READS, refuse, why
    from neelc.tools.why.reading import why_request
    from neelc.tools.why.rows import rows_request
    from neelc.tools.why.temporal import situations_request

    inputs, program = bound(source, options)
    place = chosen(program, [options.query] if options.query else [], "why")[0]
    refuse_unused(inputs, program, options)
    if isinstance(program.queries[place].query, HostQuery):
        rows = rows_request(program, place, options.key, options.between, source)
        return _explain_rows(inputs, rows, options)
    situations = situations_request(program, place, options.key, options.between, source)
    if situations is not None:
        return _explain_rows(inputs, situations, options)
    refuse(program.queries[place], source)
    program = executable(program, [place], source, ROWS_IT_READS)
    request = why_request(program, place, options.key, options.between)
    streams = {stream.name: stream for stream, _ in request.streams()}
    tables = _read(inputs, program, streams, options, lambda frame: rows_of_pattern(request, frame, source))
    if tables is None:
        return 3
    found = why(request, tables, source)
    _write(found, options)
    if options.report is not None:
        from neelc.cli.report import write_report

        write_report(options.report, why_page(request, inputs, tables, found))
    return 0


def _explain_rows(
    inputs: Inputs, request: RowsRequest | SituationsRequest, options: argparse.Namespace
) -> int:
    """A query around MATCH_RECOGNIZE, or with MATCH_RECOGNIZE_TEMPORAL."""
    from neelc.api.why import rows_of_clause

    tables = _read(
        inputs,
        request.program,
        request.streams,
        options,
        lambda frame: rows_of_clause(request, frame),
    )
    if tables is None:
        return 3
    found = request.explained(tables)
    _write(found, options)
    if options.report is not None:
        from neelc.cli.report import write_report

        write_report(options.report, rows_page(request, inputs, tables, found))
    return 0


# Who reads the events.

Reader = Callable[[Callable[["Stream"], Any]], Tables]
"""The rows that are explained, of the DataFrames of streams."""


def _read(
    inputs: Inputs,
    program: Program,
    streams: Mapping[str, Stream],
    options: argparse.Namespace,
    rows: Reader,
) -> Tables | None:
    """The rows of streams; None if they cannot be read, which has been reported then. The reference reads
    all of them."""
    match options.engine:
        case "reference":
            return _read_by_reference(inputs, program)
        case "local":
            return _read_locally(inputs, streams, options, rows)
        case "spark":
            return _read_by_spark(inputs, streams, options, rows)
    return on_local_or_spark(
        options,
        lambda: _read_locally(inputs, streams, options, rows),
        lambda: _read_by_spark(inputs, streams, options, rows),
    )


def _read_by_reference(inputs: Inputs, program: Program) -> Tables | None:
    from neelc.catalog.inputs import read

    tables, failures = read(inputs, program)
    if failures:
        print(*failures, sep="\n\n", file=sys.stderr)
        return None
    return tables


def _read_locally(
    inputs: Inputs, streams: Mapping[str, Stream], options: argparse.Namespace, rows: Reader
) -> Tables | None:
    from neelc.cli.progress import Progress
    from neelc.cli.run_local import stream_frames
    from neelc.engines.local.execution import LocalEngine
    from neelc.engines.local.inputs import local_tables

    with Progress(sys.stderr) as progress:
        progress.begin("looking for the events")
        engine = LocalEngine(options.timezone or "UTC")
        calls: dict[str, EvaluatedCall] = {}
        check_is_here(inputs, streams)
        tables = local_tables(inputs, streams, {}, calls, engine.zone)
        settle_on_local(options, tables)
        frames = stream_frames(engine, tables, calls)
        return rows(lambda stream: frames[stream.name])


def _read_by_spark(
    inputs: Inputs, streams: Mapping[str, Stream], options: argparse.Namespace, rows: Reader
) -> Tables | None:
    from neelc.api.spark_session import NoSpark, session
    from neelc.cli.options import check_data, frames_of, with_timezone
    from neelc.cli.progress import Progress

    settings = with_timezone(settings_of(options.conf), options.timezone)
    check_data(inputs, streams)
    try:
        with Progress(sys.stderr) as progress:
            progress.begin("starting Spark")
            with session(options.master, options.remote, settings) as spark:
                progress.begin("looking for the events")
                frames = frames_of(spark, inputs, streams)
                return rows(lambda stream: frames[stream.name])
    except NoSpark as error:
        print(f"neelc: Spark cannot be started: {error}", file=sys.stderr)
        print("`neelc doctor` looks for the reason; --engine local does without Spark", file=sys.stderr)
        return None


def _write(found: Why, options: argparse.Namespace) -> None:
    if (options.format or format_of(options.output)) == "json":
        text = found.json() + "\n"
    elif options.output in (None, STANDARD) and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        text = coloured(found)
    else:
        text = found.text
    put(text, options.output)


def format_of(output: str | None) -> str:
    """The format of a file, by its suffix."""
    return "json" if Path(output or "").suffix.lower() == ".json" else "text"


def coloured(found: Why) -> str:
    """The text with colours, for a terminal."""
    from neelc.tools.why.model import marked

    return "".join(
        f"\033[{COLOURS[line.kind]}m{line.text}\033[0m\n" if line.kind in COLOURS else f"{line.text}\n"
        for line in marked(found)
    )


# `neelc why --report`: the events that were looked at, their matches, and the explanation of each start.


def why_page(request: WhyRequest, inputs: Inputs, tables: Tables, found: Why) -> str:
    """A page with a picture of the events that were looked at; notes explain the starts."""
    text = written_queries(inputs.script, request.program)[request.place]
    file = Path(inputs.source.name).name
    subject = DrawnQuery(file, text.name, text.text, request.match, ())
    program = request.needed()
    rows = rows_looked_at(request, tables)
    picture = reference_picture(subject, program, len(program.queries) - 1, rows, notes=found.notes)
    return report_page([picture])


def rows_page(request: RowsRequest | SituationsRequest, inputs: Inputs, tables: Tables, found: Why) -> str:
    """A page with a picture of the rows of the requested keys; notes tell of each."""
    from neelc.tools.why.temporal import SituationsRequest

    text = written_queries(inputs.script, request.program)[request.place]
    file = Path(inputs.source.name).name
    if isinstance(request, SituationsRequest):
        query = request.program.queries[request.place].query
        kept, drawn = request.tables_looked_at(tables), DrawnQuery(file, text.name, text.text, query)
        return report_page(
            [reference_picture(drawn, request.program, request.place, kept, notes=found.notes)]
        )
    subject = DrawnQuery(file, text.name, text.text, request.host)
    rows = [row for partition in request.partitions(tables) for row in partition]
    return report_page([clause_picture(subject.clause, rows, subject.titles, notes=found.notes)])
