"""`neelc test`: case files, without Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent

from neelc.cli.internal import internal_error
from neelc.cli.options import add_timezone
from neelc.files import CallError

DESCRIPTION = """Run case files: a stream, a query and the matches it must find, in one text. Directories are
searched for *.case. Each case runs on the reference interpreter; Spark is not needed."""

EXAMPLES = """examples:
  neelc test tests/cases
  neelc test rising.case falling.case
  neelc test --update rising.case     write what comes out now into the file
  neelc test --streaming rising.case  run it as a stream, too, however its events come
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a case file, or a directory of them")
    parser.add_argument(
        "--untrusted",
        action="store_true",
        help="queries may read only the events of their case, and Python in cases is not run",
    )
    parser.add_argument(
        "--update", action="store_true", help="write what comes out now into the cases that fail"
    )
    parser.add_argument(
        "--streaming",
        action="store_true",
        help="also run cases as streams: in micro-batches of one event, two and all, in order and out of "
        "order within the watermark. Cases whose query is refused over streams are listed with the reason",
    )
    add_timezone(parser, "the time zone of cases that do not say one: Europe/Berlin, +02:00 (UTC)")


def run(options: argparse.Namespace) -> int:
    from neelc.runtime.values.times import in_zone

    with in_zone(options.timezone or "UTC"):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    from neelc.tools import cases

    paths = case_files(options.paths)
    failed = updated = 0
    tally, notes = cases.StreamTally(), dict[str, list[Path]]()
    if options.streaming and options.update:
        raise CallError("test --streaming: a case says what a stream must find; leave --update out")
    for number, path in enumerate(paths, 1):
        _progress(f"{number}/{len(paths)}  {path}")
        try:
            if options.update:
                updated += cases.update(path, options.untrusted)
                continue
            case = cases.load(path, options.untrusted)
            outcome = cases.run_case(case)
            problem = None if outcome.passed else outcome.diff
            if options.streaming and outcome.passed:
                as_stream = cases.run_as_stream(case)
                tally.add(as_stream)
                problem = None if as_stream.passed else as_stream.diff
                if as_stream.note:
                    notes.setdefault(as_stream.note, []).append(path)
        except (cases.CaseError, CallError) as error:
            problem = str(error)
        except Exception as error:  # a bug that one case shows is no reason to leave out the others
            problem = internal_error(error)
        if problem is not None:
            failed += 1
            _progress("")
            print(f"{path}: failed\n{indent(problem, '  ')}\n")
    _progress("")
    for note, refused in notes.items():
        print(note, *(f"  {path}" for path in refused), "", sep="\n")
    passed = len(paths) - failed
    more = f", {updated} updated" if options.update else ""
    print(f"{passed} passed, {failed} failed{more}")
    if options.streaming:
        print(tally)
    return 1 if failed else 0


def case_files(names: Sequence[str]) -> list[Path]:
    """The case files among and below the paths, each once."""
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        if not path.exists():
            raise CallError(f"{name}: no such file or directory")
        below = sorted(path.rglob("*.case")) if path.is_dir() else [path]
        if not below:
            raise CallError(f"{name}: no *.case files in this directory")
        found.update(dict.fromkeys(below))
    return list(found)


def _progress(text: str) -> None:
    """One line that is written over, for people; nothing when nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
