"""`neelc check`: is the script right?"""

from __future__ import annotations

import argparse
import json
import sys

from neelc.commands.options import add_inputs
from neelc.errors import NeelError, as_record
from neelc.files import CallError, read_source

DESCRIPTION = """Parse and bind scripts and tell everything that is wrong with them. Nothing is run, and no
data are read unless a stream's columns are known from nowhere else."""

EXAMPLES = """examples:
  neelc check hospital.neel
  neelc check --format json *.neel
  neelc check --stream Trades=trades.csv,timestamp=ts,type=ticker rising.neel
  echo 'PATTERN SEQ(A a, B b)' | neelc check -
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a script; - is standard input")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how errors are told (text)"
    )
    add_inputs(parser)


def run(options: argparse.Namespace) -> int:
    records: list[dict[str, object]] = []
    status = 0
    for name in options.files:
        try:
            print(_fine(name, options), file=sys.stderr)
        except NeelError as error:
            status = max(status, 1)
            records.extend(as_record(diagnostic, error.source) for diagnostic in error.diagnostics)
            if options.format == "text":
                print(error, end="\n\n" if name != options.files[-1] else "\n", file=sys.stderr)
        except CallError as error:
            status = 2
            print(f"neelc: {error}", file=sys.stderr)
    if options.format == "json":
        print(json.dumps(records, indent=2, ensure_ascii=False))
    return status


def _fine(name: str, options: argparse.Namespace) -> str:
    from neelc.commands.streams import bound

    source = read_source(name)
    _, program = bound(source, options)
    count = len(program.queries)
    return f"{source.name}: fine: {count or 'no'} {'query' if count == 1 else 'queries'}"
