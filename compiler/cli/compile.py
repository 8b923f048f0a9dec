"""`neelc compile`: a query as PySpark source, as a plan, as Spark SQL, or as what the local engine runs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from neelc.arguments import MOST_ROWS, ExecutionStrategy, Options
from neelc.cli.options import (
    add_inputs,
    add_rules,
    add_statistics,
    add_strategy,
    add_streaming,
    has_rules,
    refuse_for_rules,
)
from neelc.cli.output import check_target, put, scripts_of
from neelc.files import CallError, read_source

if TYPE_CHECKING:
    from neelc.catalog.inputs import Inputs
    from neelc.engines.spark.compiled import CompiledScript
    from neelc.ir.program import Program
    from neelc.rows.bind.host import Describe
    from neelc.source import Source

DESCRIPTION = """Compile the last query of a script, or the one named by --query, to PySpark source with one
function, `query(spark, streams)`, which returns a DataFrame. `neelc run` and `neelc.sql` run the same source.
Given several scripts, a directory or --all, the function returns the rows of all rules. Nothing runs, and
Spark is not started."""

EXAMPLES = """examples:
  neelc compile hospital.neel
  neelc compile hospital.neel -o hospital.py
  neelc compile hospital.neel --emit plan --strategy join
  neelc compile hospital.neel --streaming
  neelc compile hospital.neel --target duckdb
  neelc compile rules/ -o rules.py
  echo 'PATTERN SEQ(A a, B b)' | neelc compile - --stream Trades=trades.csv,type=ticker
"""

WAY_OUT = "neelc run --engine reference runs it, on small data"

EMITTED = ("python", "plan", "json", "sql")
TARGETS = ("pyspark", "duckdb")


def add(parser: argparse.ArgumentParser) -> None:
    add_rules(parser)
    parser.add_argument(
        "--emit",
        choices=EMITTED,
        default="python",
        help="PySpark source, the physical plan as text or JSON, or Spark SQL (default: python)",
    )
    parser.add_argument(
        "--target",
        choices=TARGETS,
        default="pyspark",
        help="pyspark, or duckdb: what the local engine runs, as readable text (default: pyspark)",
    )
    parser.add_argument(
        "--query",
        metavar="NAME",
        action="append",
        default=[],
        help="compile this query, or these rules (repeatable)",
    )
    add_strategy(parser)
    add_streaming(parser)
    parser.add_argument(
        "--buckets",
        metavar="N",
        type=int,
        help="with --streaming: the number of buckets that keys are hashed into (default: 16)",
    )
    add_inputs(parser)
    add_statistics(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file; - is standard output")


def run(options: argparse.Namespace) -> int:
    check_target("compile -o", options.output, *scripts_of(options))
    if has_rules(options):
        return _compiled_rules(options)
    source = read_source(options.files[0])

    from neelc.cli.options import bound, chosen, located, print_warnings, refuse_unused, statistics_of
    from neelc.pipeline import compile_query, write_sql

    is_local = options.target == "duckdb"
    inputs, program = bound(source, options, _describing_locally if is_local else None)
    if len(options.query) > 1:
        raise CallError(f"compile --query: one query of a script, here are {len(options.query)}; --all")
    (at,) = chosen(program, options.query, "compile")
    refuse_unused(inputs, program, options)
    _refuse_settings(program, at, options)
    found = located(program, inputs.directory)
    if options.streaming:
        found = found.with_streams(
            lambda one: one if one.producer or one.is_relation else replace(one, is_streaming=True)
        )
    _refuse_present(program)
    statistics = statistics_of(inputs, found, options.stats)
    try:
        how = replace(options_in(options), streaming=options.streaming, buckets=options.buckets)
        compiled = compile_query(found, at, source, how, statistics, None if options.streaming else WAY_OUT)
        if is_local:
            text = _local_text(compiled, found, at, source)
        elif options.emit == "sql":
            text = write_sql(compiled, found, at, source)
        else:
            text = _emitted(compiled, options.emit)
    finally:
        print_warnings(program, source)  # of a query that cannot be compiled, too
    return _write(text, options)


def _describing_locally(_: Inputs) -> Describe:
    from neelc.api.local import describing_locally

    return describing_locally


def _local_text(compiled: CompiledScript, program: Program, at: int, source: Source) -> str:
    """What the local engine runs."""
    from neelc.api.local import unspelled
    from neelc.api.streams import streams_read
    from neelc.engines.local.plan import local_program
    from neelc.engines.local.source import program_text
    from neelc.scalar.duckdb.pieces import UnspelledOperation

    streams = {
        name: {column.name: column.type for column in stream.own_columns}
        for name, stream in streams_read(program, [at]).items()
    }
    try:
        return program_text(local_program(compiled.relations, streams))
    except UnspelledOperation as error:
        raise unspelled(error, program, at, source) from None


def _compiled_rules(options: argparse.Namespace) -> int:
    """The source of many rules; gives the exit code."""
    from neelc.cli.rules import explicable_rules, print_left_out

    refuse_for_rules(options, "strategy")
    is_local = options.target == "duckdb"
    if is_local:
        _refuse_for_duckdb(options)
    if options.emit == "sql":
        raise CallError("compile --emit sql: for one query, not for rules")
    if options.buckets is not None and (options.buckets < 1 or not options.streaming):
        raise CallError("compile --buckets: a number of at least 1, for --streaming")
    rules, compiled = explicable_rules(options, options_in(options), is_local)
    _refuse_present(rules.program)
    print_left_out(rules)
    if compiled.local is not None:
        from neelc.engines.local.source import program_text

        return _write(program_text(compiled.local), options)
    return _write(_emitted(compiled.script, options.emit), options)


def _refuse_present(program: Program) -> None:
    """What is written now is run later."""
    if program.present is not None:
        raise CallError("compile: the script uses the current time: pass it with --now TIME")


def _refuse_for_duckdb(options: argparse.Namespace) -> None:
    if options.streaming or options.emit != "python":
        wrong = "--streaming" if options.streaming else f"--emit {options.emit}"
        raise CallError(f"compile {wrong}: for --target pyspark")


def _refuse_settings(program: Program, place: int, options: argparse.Namespace) -> None:
    """Settings are for PATTERN queries, and MATCH_RECOGNIZE is not SQL for Spark."""
    if options.buckets is not None and (options.buckets < 1 or not options.streaming):
        raise CallError("compile --buckets: a number of at least 1, for --streaming")
    if options.target == "duckdb":
        _refuse_for_duckdb(options)
    if options.streaming and options.strategy not in (None, ExecutionStrategy.KERNEL):
        raise CallError(f"compile --strategy {options.strategy}: with --streaming, the kernel runs")
    from neelc.cli.options import has_rows_only, refuse_for_rows

    refuse_for_rows("compile", program, [place], options, "stats")
    if options.emit == "sql" and has_rows_only(program, [place]):
        raise CallError("compile --emit sql: MATCH_RECOGNIZE runs in Python; use python, plan or json")


def _write(text: str, options: argparse.Namespace) -> int:
    text = text.rstrip("\n") + "\n"
    put(text, options.output)
    return 0


def _emitted(compiled: CompiledScript, kind: str) -> str:
    match kind:
        case "plan":
            return compiled.plan
        case "json":
            return compiled.json
    return compiled.source


# What the options of a command say about how queries are compiled.


def options_in(options: argparse.Namespace) -> Options:
    """`--strategy`, `--most-rows` and `--most-matches`."""
    most_rows = MOST_ROWS if options.most_rows is None else options.most_rows
    strategy = ExecutionStrategy(options.strategy) if options.strategy else None
    return Options(strategy, most_rows, options.most_matches)
