"""`neelc run`: the matches of a script."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neelc.commands.options import add_inputs
from neelc.errors import NeelError, render_line
from neelc.files import CallError, read_source, write_whole

if TYPE_CHECKING:
    from neelc.ir.logical import Program
    from neelc.source import Source

DESCRIPTION = """Run a script and print the rows of its last query. Data go to standard output, messages to
standard error. The only engine so far is `reference`, which executes the definition of the language: it is
meant for small data."""

EXAMPLES = """examples:
  neelc run hospital.neel
  neelc run hospital.neel --format csv -o alarms.csv
  neelc run rising.neel --stream Trades=trades.csv,timestamp=ts,type=ticker,unit=s --arg w='10 SECONDS'
  neelc run network.neel --query Alarms --query Doubles
"""

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".txt": "table", "": "table"}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a script; - is standard input")
    parser.add_argument(
        "--engine", choices=("reference", "spark"), default="reference", help="what runs it (reference)"
    )
    add_inputs(parser)
    parser.add_argument("--format", choices=("table", "csv", "json"), help="table, csv or json lines (table)")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="write to this file; its ending tells the format"
    )
    parser.add_argument(
        "--query",
        metavar="NAME",
        action="append",
        default=[],
        help="the rows of this query (may be repeated)",
    )


def run(options: argparse.Namespace) -> int:
    if options.engine == "spark":
        raise CallError("run --engine spark: this engine does not exist yet; use --engine reference")
    kind = options.format or format_of(options.output)
    if kind != "table" and len(options.query) > 1:
        raise CallError(f"run --format {kind}: the rows of one query only, here are {len(options.query)}")
    source = read_source(options.file)
    try:
        return _run(source, kind, options)
    except NeelError as error:
        print(error, file=sys.stderr)
        # What is wrong with the data, or too much for the engine, is not the query's fault.
        return 3 if all(diagnostic.code.startswith("NEEL5") for diagnostic in error.diagnostics) else 1


def format_of(output: str | None) -> str:
    """The format that the ending of a file tells.

    >>> format_of("alarms.csv"), format_of(None)
    ('csv', 'table')
    """
    ending = Path(output or "").suffix.lower()
    if output is not None and ending not in FORMATS:
        known = ", ".join(ending for ending in FORMATS if ending)
        raise CallError(f"run -o {output}: its ending tells no format; say --format, or use {known}")
    return FORMATS.get(ending, "table")


def _run(source: Source, kind: str, options: argparse.Namespace) -> int:
    from neelc.commands.notes import missing_types
    from neelc.commands.streams import bound, refuse_unused
    from neelc.commands.tables import written
    from neelc.data.inputs import read
    from neelc.execute import execute
    from neelc.lints import lints

    inputs, program = bound(source, options)
    positions = chosen(program, options.query)
    refuse_unused(inputs, program, options)
    for warning in lints(program, source):
        print(render_line(warning, source), file=sys.stderr)
    start = time.perf_counter()
    tables, failures = read(inputs, program)
    if failures:
        print(*failures, sep="\n\n", file=sys.stderr)
        return 3
    everything = execute(inputs, program, tables)
    results = [everything[at] for at in positions]
    seconds = time.perf_counter() - start
    text = written(results, kind)
    if options.output:
        write_whole(Path(options.output), text)
    else:
        sys.stdout.write(text)
    for note in missing_types(program, tables):
        print(f"note: {note}", file=sys.stderr)
    aggregated = any(program.queries[at].match.aggregated for at in positions)
    rows = sum(len(result.rows) for _, result in results)
    print(f"{counted(rows, aggregated)} in {seconds:.2f} s (reference engine)", file=sys.stderr)
    return 0


def counted(rows: int, aggregated: bool = False) -> str:
    """
    >>> counted(1), counted(6), counted(2, aggregated=True)
    ('1 match', '6 matches', '2 rows')
    """
    if aggregated:
        return f"{rows} row{'' if rows == 1 else 's'}"
    return f"{rows} match{'' if rows == 1 else 'es'}"


def chosen(program: Program, names: Sequence[str]) -> list[int]:
    """The places of the queries to print: those named, else the last one."""
    from neelc.ir.names import find

    if not program.queries:
        raise CallError("run: the script has no query")
    if not names:
        return [len(program.queries) - 1]
    known = [query.name or "" for query in program.queries]
    positions = []
    for name in names:
        found = find(name, known)
        if not found:
            listed = ", ".join(name for name in known if name) or "none has a name"
            raise CallError(f"run --query {name}: no such query; queries: {listed}")
        positions.append(known.index(found))
    return positions
