"""`neelc rules report`: what rules are expected to cost, which find nothing, and which contain others."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from neelc.cli.options import add_inputs, add_statistics
from neelc.files import CallError, decode, read_bytes

DESCRIPTION = """List rules by the work each is expected to take, apart from reading and sorting events. With
the statistics of a run (`neelc run RULES --stats-out FILE`), also list the rows each rule found. A rule
contains another if every match of the other one includes a match of the rule."""

EXAMPLES = """examples:
  neelc rules report rules/
  neelc run rules/ --stats-out stats.json && neelc rules report rules/ --stats stats.json
  neelc rules report rules/ --format json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("report",), help="the only action so far")
    parser.add_argument("files", metavar="FILE", nargs="+", help="scripts, or directories of *.neel files")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="a table or JSON (default: text)"
    )
    parser.add_argument(
        "--query",
        metavar="NAME",
        action="append",
        default=[],
        help="report only this rule (repeatable)",
    )
    add_inputs(parser)
    add_statistics(parser)


def run(options: argparse.Namespace) -> int:
    from neelc.cli.rules import explicable_rules, print_left_out
    from neelc.explain.rules import report_text, rule_lines

    options.streaming = options.strict = False
    rules, compiled = explicable_rules(options)
    counted = _counted(options.stats)
    print_left_out(rules)
    if options.format == "json":
        print(json.dumps([asdict(line) for line in rule_lines(compiled, counted)], indent=2))
    else:
        print(report_text(compiled, counted))
    if not counted:
        hint = "rows are those of a run: neelc run ... --stats-out FILE, then --stats FILE here"
        print(f"note: {hint}", file=sys.stderr)
    return 0


def _counted(path: str | None) -> Mapping[str, int]:
    """The rows of rules that a file of statistics has."""
    if path is None:
        return {}
    try:
        found = json.loads(decode(read_bytes(Path(path), path), path))
        return {name: int(entry["rows"]) for name, entry in found.get("queries", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CallError(f"--stats {path}: not a file of statistics") from None
