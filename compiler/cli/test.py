"""`neelc test`: case files, without Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Protocol

from neelc.cli.internal import internal_error
from neelc.cli.options import add_timezone
from neelc.files import CallError
from neelc.runtime.late_dataclass import dataclass

if TYPE_CHECKING:
    from neelc.tools.cases import CaseFile

DESCRIPTION = """Run case files, each with a stream, a query and the matches expected. Directories are
searched for *.case. Cases run on the reference interpreter and, with --engine local, on the local engine as
well. Spark is not needed."""

EXAMPLES = """examples:
  neelc test tests/cases
  neelc test rising.case falling.case
  neelc test --update rising.case     write the actual result into the file
  neelc test --engine local cases/    also run on the local engine, which must agree
  neelc test --streaming rising.case  also run it as a stream, in several orders of arrival
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a case file, or a directory of them")
    parser.add_argument(
        "--untrusted",
        action="store_true",
        help="let queries read only the events of their case, and run no Python code from cases",
    )
    parser.add_argument(
        "--update", action="store_true", help="write the actual results into the cases that fail"
    )
    parser.add_argument(
        "--engine",
        choices=("reference", "local"),
        default="reference",
        help="local: also run cases on the local engine, which must find the same matches; queries "
        "that it does not support are listed with the reason (default: reference)",
    )
    parser.add_argument(
        "--streaming",
        action="store_true",
        help="also run cases as streams: in micro-batches of one event, of two and of all, in order and "
        "out of order within the watermark; queries not supported over streams are listed with the reason",
    )
    add_timezone(
        parser, "the time zone of cases that state none, such as Europe/Berlin or +02:00 (default: UTC)"
    )


def run(options: argparse.Namespace) -> int:
    from neelc.runtime.values.times import in_zone

    with in_zone(options.timezone or "UTC"):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    from neelc.tools import cases

    paths = case_files(options.paths)
    if options.update and (options.streaming or options.engine == "local"):
        what = "--streaming" if options.streaming else "--engine local"
        raise CallError(f"test {what}: a case says what must be found; leave --update out")
    further, failed, updated = _further(options), 0, 0
    for number, path in enumerate(paths, 1):
        _progress(f"{number}/{len(paths)}  {path}")
        try:
            if options.update:
                updated += cases.update(path, options.untrusted)
                continue
            problem = _problem(path, options.untrusted, further)
        except (cases.CaseError, CallError) as error:
            problem = str(error)
        except Exception as error:  # a bug that one case shows is no reason to leave out the others
            problem = internal_error(error)
        if problem is not None:
            failed += 1
            _progress("")
            print(f"{path}: failed\n{indent(problem, '  ')}\n")
    _progress("")
    for one in further:
        for note, refused in one.notes.items():
            print(note, *(f"  {path}" for path in refused), "", sep="\n")
    more = f", {updated} updated" if options.update else ""
    print(f"{len(paths) - failed} passed, {failed} failed{more}")
    for one in further:
        print(one.tally)
    return 1 if failed else 0


def _problem(path: Path, untrusted: bool, further: Sequence[_FurtherRun]) -> str | None:
    """What is wrong with a case, if it is."""
    from neelc.tools import cases

    case = cases.load(path, untrusted)
    outcome = cases.run_case(case)
    if not outcome.passed:
        return outcome.diff
    problems = (one.problem(case, path) for one in further)
    return next((problem for problem in problems if problem is not None), None)


class FurtherOutcome(Protocol):
    """What became of a case that ran in another way, too; `note` says why if it did not."""

    @property
    def passed(self) -> bool: ...

    @property
    def diff(self) -> str: ...

    @property
    def note(self) -> str: ...


@dataclass
class _FurtherRun:
    """Another way to run the cases that pass, and what became of them."""

    how: Callable[[CaseFile], FurtherOutcome]
    tally: Any
    notes: dict[str, list[Path]] = field(default_factory=dict)

    def problem(self, case: CaseFile, path: Path) -> str | None:
        outcome = self.how(case)
        self.tally.add(outcome)
        if outcome.note:
            self.notes.setdefault(outcome.note, []).append(path)
        return None if outcome.passed else outcome.diff


def _further(options: argparse.Namespace) -> list[_FurtherRun]:
    """What else the options ask for."""
    from neelc.tools import cases

    found: list[_FurtherRun] = []
    if options.engine == "local":
        from neelc.tools.cases.local import LocalTally, run_locally  # DuckDB, Arrow and NumPy

        zone = options.timezone or "UTC"
        found.append(_FurtherRun(lambda case: run_locally(case, zone), LocalTally()))
    if options.streaming:
        found.append(_FurtherRun(cases.run_as_stream, cases.StreamTally()))
    return found


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
