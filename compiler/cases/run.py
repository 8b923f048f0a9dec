"""Running a case, and writing what comes out into its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neelc import parse
from neelc.bind import bind
from neelc.cases.compare import Outcome, compare, names_of, rows_of
from neelc.cases.file import Case, Matches, load
from neelc.cases.file import parse as parse_case
from neelc.cases.hosted import host_prepared
from neelc.cases.problem import CaseError
from neelc.cases.rewritten import Forms, check_rule_names, forms_of, problems, programs
from neelc.cases.warned import warning_problems, warnings_of, warnings_section
from neelc.data import inputs
from neelc.data.layout import aligned
from neelc.errors import NeelError
from neelc.execute import Tables, execute
from neelc.files import CallError, write_whole
from neelc.host.inputs import HostInputs
from neelc.host.untrusted import refuse_files_and_agents
from neelc.ir.logical import Program
from neelc.ir.moments import in_zone
from neelc.runtime.reference import Result


@dataclass(frozen=True)
class Ready:
    """A case whose script is bound and whose events are read."""

    found: inputs.Inputs
    program: Program
    tables: Tables


def run_case(case: Case) -> Outcome:
    """Run a case on the reference interpreter: as written; with its events in reverse, as order never
    matters; and rewritten in every form. All must find what the case expects, by the rules that it names."""
    with in_zone(case.zone):
        return _run(case)


def _run(case: Case) -> Outcome:
    check_rule_names(case)
    ready = prepared(case)
    program = ready.program if isinstance(ready, Ready) else Program((), ())
    forms = forms_of(program)
    outcome = compare(case.expected, _actual(ready))
    if not outcome.passed:
        return outcome
    for how, result in _other_ways(case, ready, forms):
        other = compare(case.expected, result)
        if not other.passed:
            return replace(other, diff=f"{how}:\n{other.diff}")
    told = "\n".join((*problems(case, program, forms), *warning_problems(case, program)))
    return replace(outcome, passed=not told, diff=told)


def _other_ways(
    case: Case, ready: Ready | HostInputs | str, forms: Forms
) -> Iterator[tuple[str, Result | str]]:
    """How else a case is run, and the result."""
    yield "with the events in reverse order", _actual(prepared(case, backwards=True))
    if isinstance(ready, Ready):
        for name, program in programs(ready.program, forms):
            patterns = "\n".join(str(query.match.pattern) for query in program.pattern_queries)
            yield f"rewritten ({name}) to\n{patterns}\n", _actual(replace(ready, program=program))


def prepared(case: Case, backwards: bool = False) -> Ready | HostInputs | str:
    """What is run, or the text of all diagnostics."""
    try:
        hosted = host_prepared(case, backwards)
        if hosted is not None:
            return hosted
        script = parse.read(case.query)
        if case.untrusted:
            refuse_files_and_agents(script, case.query)
        given = [events.given(script, backwards) for events in case.events]
        found = inputs.complete(script, case.query, given, case.path.parent)
        program = bind(found.script, case.query, found.streams, case.arguments, case.aggregates, case.agents)
        if not program.queries:
            raise CaseError(case.path, case.line_of("query"), "the script has no query to run")
        tables, failures = inputs.read(found, program)
        return _error_text(*failures) if failures else Ready(found, program, tables)
    except NeelError as error:
        return _error_text(error)
    except CallError as error:
        raise CaseError(case.path, case.line_of("query"), str(error)) from None


def _actual(ready: Ready | HostInputs | str) -> Result | str:
    """The rows of the last query, or the text of all diagnostics."""
    if isinstance(ready, str):
        return ready
    try:
        if isinstance(ready, HostInputs):
            return ready.answer(len(ready.script.statements) - 1)
        *_, (_, result) = execute(ready.found, ready.program, ready.tables)
        return result
    except NeelError as error:
        return _error_text(error)


def _error_text(*errors: NeelError) -> str:
    """All diagnostics; spaces at the end of a line would be lost in a file."""
    text = "\n\n".join(map(str, errors))
    return "\n".join(line.rstrip() for line in text.split("\n"))


def update(path: Path | str, untrusted: bool = False) -> bool:
    """Write what comes out now into the file, unless it is what the file says; whether it was written."""
    case = load(path, untrusted)
    with in_zone(case.zone):
        return _update(case)


def _update(case: Case) -> bool:
    ready = prepared(case)
    actual = _actual(ready)
    text = case.text
    if not compare(case.expected, actual).passed:
        text = _with_section(case, ("matches", "error"), _section(actual, case.expected))
    found = warnings_of(case, ready.program) if isinstance(ready, Ready) else ""
    if case.warnings not in (None, found):
        again = parse_case(text, case.path, case.untrusted)
        text = _with_section(again, ("warnings",), warnings_section(found))
    if text != case.text:
        write_whole(case.path, text)
    return text != case.text


def _with_section(case: Case, words: Sequence[str], new: Sequence[str]) -> str:
    """The text of a case with these lines instead of the section that begins with one of the words."""
    lines = case.text.rstrip().split("\n")
    section = next((s for s in case.sections if s.word in words), None)
    before = lines[: section.line - 1] if section else [*lines, ""]
    after = lines[section.line + len(section.body) :] if section else []
    return "\n".join([*before, *new, *(["", *after] if after else [])]) + "\n"


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
