"""`neelc explain`: how a query is executed, and why."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neelc.cli.engine import AUTO, add_engine, engine_for
from neelc.cli.options import (
    add_inputs,
    add_rules,
    add_spark,
    add_statistics,
    add_streaming,
    has_rules,
    refuse_spark,
)
from neelc.cli.output import check_target, put, scripts_of
from neelc.explain.engine import SPARK
from neelc.explain.formats import FORMATS, MODES, renderer
from neelc.files import CallError, read_source

if TYPE_CHECKING:
    from neelc.ir.program import Program

DESCRIPTION = """Explain how the queries of a script will run, and why: the chosen plan, the rewrites that led
to it, the alternatives and their cost, and the automaton of the pattern. Given several scripts, a directory
or --all, explain what the rules share when they run together. Nothing runs, except with --analyze."""

EXAMPLES = """examples:
  neelc explain hospital.neel                     the plan, why, and what bounds its state
  neelc explain hospital.neel --mode rewrite      each rule that fired, before and after
  neelc explain hospital.neel --mode cost --stats hospital.json
  neelc explain hospital.neel --mode nfa --format mermaid
  neelc explain hospital.neel --streaming
  neelc explain hospital.neel --analyze           run it: estimated against measured, step by step
  neelc explain rules/                            what rules share, and which run alone
  neelc explain hospital.neel -o hospital.html    all of it, to look at in a browser
"""

ENDINGS = {
    ".txt": "text",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    "": "text",
}


def add(parser: argparse.ArgumentParser) -> None:
    add_rules(parser)
    parser.add_argument("--mode", choices=MODES, default="simple", help="what to explain (default: simple)")
    parser.add_argument("--format", choices=tuple(FORMATS), help="output format (default: text)")
    parser.add_argument(
        "--query",
        metavar="NAME",
        action="append",
        default=[],
        help="explain this query, by name or by position, starting at 1 (repeatable)",
    )
    add_streaming(parser)
    parser.add_argument(
        "--analyze",
        action="store_true",
        help="run the query (by default the last one) and show estimated and measured numbers for each step "
        "of its plan",
    )
    add_engine(parser, (AUTO, "local", "spark"))
    add_inputs(parser)
    add_statistics(parser)
    add_spark(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write to this file in the format of its extension; - is standard output",
    )


def run(options: argparse.Namespace) -> int:
    check_target("explain -o", options.output, *scripts_of(options))
    kind = options.format or format_of(options.output)
    if options.analyze:
        from neelc.cli.analyze import check_analyze

        check_analyze(options, kind)
    for name in ("master", "remote", "conf"):
        if getattr(options, name) and not options.analyze:
            raise CallError(f"explain --{name}: a setting of Spark, which runs with --analyze only")
    if options.engine == "local":
        refuse_spark("explain", options)
        if options.streaming:
            raise CallError("explain --engine local: streams without end run on Spark")
    if has_rules(options):
        return _explained_rules(kind, options)
    source = read_source(options.files[0])
    if options.analyze:
        from neelc.cli.analyze import analyze

        return analyze(source, kind, options)

    from neelc.cli.options import bound, refuse_unused, statistics_of
    from neelc.explain.host import check_view
    from neelc.explain.report import report

    inputs, program = bound(source, options)
    places = chosen(program, options.query)
    refuse_unused(inputs, program, options)
    statistics = statistics_of(inputs, program, options.stats)
    engine = SPARK
    if not options.streaming:
        engine = engine_for(inputs, program, places, statistics, options.engine)
    found = report(source.name, inputs.script, program, statistics, places, source, options.streaming, engine)
    check_view(found, kind, options.mode)
    return _write(renderer(kind)(found, options.mode), options)


def _explained_rules(kind: str, options: argparse.Namespace) -> int:
    """How many rules are executed together; gives the exit code."""
    import json

    from neelc.cli.rules import print_left_out, rules_on_engine
    from neelc.explain.rules import rules_record, rules_text

    if options.mode != "simple":
        raise CallError(f"explain --mode {options.mode}: for the queries of one script, not for rules")
    if kind not in ("text", "json"):
        raise CallError(f"explain --format {kind}: rules are explained as text or json")
    if options.analyze:
        from neelc.cli.analyze import analyze_rules

        return analyze_rules(kind, options)
    rules, compiled, engine = rules_on_engine(options)
    record = rules_record(compiled, rules.errors, engine)
    text = (
        rules_text(compiled, engine) if kind == "text" else json.dumps(record, indent=2, ensure_ascii=False)
    )
    print_left_out(rules)
    return _write(text.rstrip("\n") + "\n", options)


def _write(text: str, options: argparse.Namespace) -> int:
    put(text, options.output)
    return 0


def format_of(output: str | None) -> str:
    """The format of a file, by its extension.

    >>> format_of("plan.html"), format_of(None)
    ('html', 'text')
    """
    ending = Path(output or "").suffix.lower()
    if output is not None and ending not in ENDINGS:
        known = ", ".join(ending for ending in ENDINGS if ending)
        raise CallError(f"explain -o {output}: unknown file extension; pass --format, or use {known}")
    return ENDINGS.get(ending, "text")


def chosen(program: Program, names: Sequence[str]) -> list[int]:
    """The places of the queries to explain: those named, else all."""
    from neelc.ir.names import find

    if not program.queries:
        raise CallError("explain: the script has no query")
    if not names:
        return list(range(len(program.queries)))
    known = [query.name or str(place) for place, query in enumerate(program.queries, 1)]
    found = []
    for name in names:
        match = find(name, known) or (name if name.isdigit() and 0 < int(name) <= len(known) else None)
        if match is None:
            raise CallError(f"explain --query {name}: no such query; queries: {', '.join(known)}")
        found.append(known.index(match) if match in known else int(match) - 1)
    return found
