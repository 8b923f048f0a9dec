"""`neelc fmt`: scripts in canonical form."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from neelc.errors import NeelError
from neelc.files import CallError, read_source, write_whole

DESCRIPTION = """Format scripts: one clause per line, keywords in upper case. Comments between statements are
kept; a statement with comments inside is left unchanged."""

EXAMPLES = """examples:
  neelc fmt hospital.neel             print it
  neelc fmt --write *.neel            rewrite files that are not formatted
  neelc fmt --check *.neel            list files that are not formatted; exit code 1 if there are any
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a script; - is standard input")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--write", action="store_true", help="rewrite files that are not formatted")
    how.add_argument(
        "--check", action="store_true", help="list files that are not formatted, and change nothing"
    )


def run(options: argparse.Namespace) -> int:
    if options.write and "-" in options.files:
        raise CallError("fmt --write: standard input cannot be rewritten")
    status = 0
    for name in options.files:
        try:
            status = max(status, _format(name, options))
        except NeelError as error:
            status = max(status, 1)
            print(error, file=sys.stderr)
        except CallError as error:
            status = 2
            print(f"neelc: {error}", file=sys.stderr)
    return status


def _format(name: str, options: argparse.Namespace) -> int:
    from neelc.syntax.formatter import canonical

    source = read_source(name)
    found = canonical(source)
    for line in found.untouched:
        message = "left as written: there are comments inside the statement"
        print(f"{source.name}:{line}: {message}", file=sys.stderr)
    changes = found.text != source.text
    if options.check:
        if changes:
            print(source.name)
        return int(changes)
    if options.write:
        if changes:
            write_whole(Path(name), found.text)
            print(f"{source.name}: formatted", file=sys.stderr)
        return 0
    sys.stdout.write(found.text)
    return 0
