"""`neelc check`: errors and warnings of scripts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from neelc.cli.options import add_inputs
from neelc.errors import NeelError, as_record, render_all
from neelc.files import CallError, read_source

DESCRIPTION = """Check scripts and report all errors, and warnings for what is valid but probably not
intended. The files of a directory are rules and are checked together. Nothing runs, and data files are opened
only if there is no other way to know the columns of a stream."""

EXAMPLES = """examples:
  neelc check hospital.neel
  neelc check --format json *.neel
  neelc check rules/
  neelc check --stream Trades=trades.csv,timestamp=ts,type=ticker rising.neel
  echo 'PATTERN SEQ(A a, B b)' | neelc check -
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a script, or a directory with rules in *.neel files; - is standard input",
    )
    parser.add_argument("--all", action="store_true", help="treat all files as rules that run together")
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of errors and warnings (default: text)",
    )
    add_inputs(parser)


def run(options: argparse.Namespace) -> int:
    records: list[dict[str, object]] = []
    status = 0
    groups = [options.files] if options.all else [[name] for name in options.files]
    for place, names in enumerate(groups, 1):
        end = "\n\n" if place < len(groups) else "\n"
        try:
            if options.all or Path(names[0]).is_dir():
                records += _checked_rules(names, options, end)
            else:
                records += _checked(names[0], options, end)
        except NeelError as error:
            status = max(status, 1)
            for one in getattr(error, "errors", [error]):
                records.extend(as_record(diagnostic, one.source) for diagnostic in one.diagnostics)
            if options.format == "text":
                print(error, end=end, file=sys.stderr)
        except CallError as error:
            status = 2
            print(f"neelc: {error}", file=sys.stderr)
    if options.format == "json":
        print(json.dumps(records, indent=2, ensure_ascii=False))
    return status


def _checked(name: str, options: argparse.Namespace, end: str) -> list[dict[str, object]]:
    """Say that a script is right, and what might not be meant; gives the warnings as records."""
    from neelc.cli.options import bound, refuse_unused
    from neelc.tools.lints import lints

    source = read_source(name)
    inputs, program = bound(source, options)
    if len(options.files) == 1:
        refuse_unused(inputs, program, options)
    warnings = lints(program, source)
    print(fine(source.name, len(program.queries), len(warnings)), file=sys.stderr)
    if warnings and options.format == "text":
        print(render_all(warnings, source), end=end, file=sys.stderr)
    return [as_record(warning, source) for warning in warnings]


def _checked_rules(names: Sequence[str], options: argparse.Namespace, end: str) -> list[dict[str, object]]:
    """The same for rules, which are checked together."""
    from neelc.cli.rules import bound_rules, warnings_of

    rules = bound_rules(argparse.Namespace(**{**vars(options), "files": names, "query": []}))
    rules.refuse_errors()
    warnings = warnings_of(rules)
    count = sum(len(one.diagnostics) for one in warnings)
    name = ", ".join(names) if len(names) <= 3 else f"{len(names)} files"
    print(fine(name, len(rules.program.queries), count), file=sys.stderr)
    if warnings and options.format == "text":
        print(*map(str, warnings), sep="\n\n", end=end, file=sys.stderr)
    return [as_record(warning, one.source) for one in warnings for warning in one.diagnostics]


def fine(name: str, queries: int, warnings: int) -> str:
    """
    >>> fine("up.neel", 1, 0), fine("down.neel", 0, 2)
    ('up.neel: fine: 1 query', 'down.neel: fine: no queries, 2 warnings')
    """
    line = f"{name}: fine: {queries or 'no'} {'query' if queries == 1 else 'queries'}"
    return line + (f", {warnings} warning{'' if warnings == 1 else 's'}" if warnings else "")
