"""Running a case, and writing what comes out into its file."""

from __future__ import annotations

from pathlib import Path

from neelc import parse
from neelc.bind import bind
from neelc.cases.compare import Outcome, compare, names_of, rows_of
from neelc.cases.file import Case, Matches, load
from neelc.cases.problem import CaseError
from neelc.data import inputs
from neelc.data.layout import aligned
from neelc.errors import NeelError
from neelc.execute import execute
from neelc.files import CallError, write_whole
from neelc.runtime.reference import Result


def run_case(case: Case) -> Outcome:
    """Run a case on the reference interpreter, its events as written and in reverse: order never matters."""
    for backwards in (False, True):
        outcome = compare(case.expected, _actual(case, backwards))
        if not outcome.passed:
            note = "with the events in reverse order:\n" if backwards else ""
            return Outcome(False, outcome.expected, outcome.actual, note + outcome.diff)
    return outcome


def _actual(case: Case, backwards: bool = False) -> Result | str:
    """The rows of the last query, or the text of all diagnostics."""
    try:
        script = parse.read(case.query)
        given = [events.given(script, backwards) for events in case.events]
        found = inputs.complete(script, case.query, given, case.path.parent)
        program = bind(found.script, case.query, found.streams, case.arguments)
        if not program.queries:
            raise CaseError(case.path, case.line_of("query"), "the script has no query to run")
        tables, failures = inputs.read(found, program)
        if failures:
            return _error_text(*failures)
        *_, (_, result) = execute(found, program, tables)
        return result
    except NeelError as error:
        return _error_text(error)
    except CallError as error:
        raise CaseError(case.path, case.line_of("query"), str(error)) from None


def _error_text(*errors: NeelError) -> str:
    """All diagnostics; spaces at the end of a line would be lost in a file."""
    text = "\n\n".join(map(str, errors))
    return "\n".join(line.rstrip() for line in text.split("\n"))


def update(path: Path | str) -> bool:
    """Write what comes out now into the file, unless it is what the file says; whether it was written."""
    case = load(path)
    actual = _actual(case)
    if compare(case.expected, actual).passed:
        return False
    lines = case.text.rstrip().split("\n")
    section = next((s for s in case.sections if s.word in ("matches", "error")), None)
    before = lines[: section.line - 1] if section else [*lines, ""]
    after = lines[section.line + len(section.body) :] if section else []
    new = _section(actual, case.expected)
    write_whole(case.path, "\n".join([*before, *new, *(["", *after] if after else [])]) + "\n")
    return True


def _section(actual: Result | str, expected: Matches | str | None) -> list[str]:
    if isinstance(actual, str):
        return ["error", *actual.split("\n")]
    if not actual.rows:
        return ["matches none"]
    header = expected.header if isinstance(expected, Matches) else ()
    # A header that tells a column's type goes on telling it.
    typed = [any(cell.startswith(f"{column.name}:") for cell in header) for column in actual.columns]
    names = [
        f"{column.name}:{column.type}" if says_type else name
        for column, name, says_type in zip(actual.columns, names_of(actual), typed, strict=True)
    ]
    return ["matches", *aligned([names, *rows_of(actual)])]
