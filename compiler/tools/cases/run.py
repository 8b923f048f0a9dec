"""Running a case, and writing what comes out into its file."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from neelc.algebra.rules.optimise import FILTERS, optimise
from neelc.catalog import inputs
from neelc.catalog import inputs as cells
from neelc.catalog.inputs import aligned, in_order
from neelc.catalog.readers.text import TypeMismatch
from neelc.engines.reference import Tables, execute
from neelc.errors import NeelError, render_all
from neelc.files import CallError, write_whole
from neelc.findings import did_you_mean
from neelc.ir.algebra import Algebra
from neelc.ir.program import Column, Match, Program
from neelc.ir.types import DataType
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.rules.batches import SIMPLIFY, UNUSED
from neelc.pattern.rules.driver import FORMS, forms, has_readers, rewrite
from neelc.pattern.rules.rule import Rewriting
from neelc.pipeline import bind, parse
from neelc.rows.bind.untrusted import refuse_files_and_agents
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import Result
from neelc.runtime.reference.snapshots import differences, snapshots_equal
from neelc.runtime.values.times import in_zone
from neelc.tools.cases.file import CaseError, CaseFile, ExpectedRows, load
from neelc.tools.cases.file import parse as parse_case
from neelc.tools.lints import lints

if TYPE_CHECKING:
    from neelc.tools.cases.streaming.arrival import MicroBatching

# Comparing what a case expects with what came out.

NO_MATCHES = "no matches"

Cells = tuple[str, ...]


@dataclass(frozen=True)
class CaseOutcome:
    """What a case expected and what came out, as text; `diff` is empty when it passed."""

    passed: bool
    expected: str
    actual: str
    diff: str


def compare(expected: ExpectedRows | str | None, actual: Result | str) -> CaseOutcome:
    """`actual` is a result or the text of diagnostics. Rows are compared as a multiset: without order;
    those of a SELECT as snapshots."""
    expected_text = _text(expected)
    if isinstance(actual, str):
        passed = actual == expected
        return CaseOutcome(passed, expected_text, actual, "" if passed else _line_diff(expected_text, actual))
    rendered = rows_of(actual)
    found = "\n".join(aligned([names_of(actual), *rendered])) if rendered else NO_MATCHES
    if not isinstance(expected, ExpectedRows):
        return CaseOutcome(False, expected_text, found, _line_diff(expected_text, found))
    rows = [_normal(row, actual.columns) for row in expected.rows]
    row_diff = _snapshot_diff if actual.has_valid_time else _row_diff
    diff = _header_diff(expected.header, actual.columns)
    diff = diff or ("" if rows == rendered else row_diff(names_of(actual), rows, rendered, actual))
    return CaseOutcome(not diff, expected_text, found, diff)


def _text(expected: ExpectedRows | str | None) -> str:
    match expected:
        case None:
            return "(the case says neither `matches` nor `error`)"
        case str():
            return expected
    return "\n".join(aligned([expected.header, *expected.rows])) if expected.header else NO_MATCHES


def names_of(result: Result) -> list[str]:
    """The header of a result."""
    return [cells.render_name(column.name) for column in result.columns]


def rows_of(result: Result) -> list[tuple[str, ...]]:
    """The rows as cells, in an order that depends on nothing but the values."""
    types = [column.type for column in result.columns]
    return [
        tuple(cells.render(v, t) for v, t in zip(row, types, strict=True)) for row in in_order(result.rows)
    ]


def _normal(row: Sequence[str], columns: Sequence[Column]) -> tuple[str, ...]:
    """The cells as this program would write them: `10` in a column of DOUBLE is `10.0`."""
    kinds = [column.type for column in columns] if len(row) == len(columns) else []
    return tuple(_normal_cell(text, kind) for text, kind in zip(row, kinds, strict=False))


def _normal_cell(text: str, type: DataType) -> str:
    try:
        return cells.render(cells.parse(text, type), type)
    except TypeMismatch:
        return text


def _header_diff(header: Sequence[str], columns: Sequence[Column]) -> str:
    """The header and the result's columns, unless they agree; `name:TYPE` also asks for the type."""
    if not header:  # `matches none`
        return ""
    if len(header) == len(columns) and all(map(_fits, header, columns)):
        return ""
    has_types = any(f":{column.type}" in cell for cell in header for column in columns)
    found = (f"{c.name}:{c.type}" if has_types else c.name for c in columns)
    return f"columns differ:\n- {'  '.join(header)}\n+ {'  '.join(found)}"


def _fits(cell: str, column: Column) -> bool:
    return cell in (column.name, cells.render_name(column.name), f"{column.name}:{column.type}")


def _line_diff(expected: str, actual: str) -> str:
    lines = difflib.ndiff(expected.split("\n"), actual.split("\n"))
    return "\n".join(line.rstrip() for line in lines if not line.startswith("?"))


def _snapshot_diff(
    names: Sequence[str], expected: Sequence[Cells], actual: Sequence[Cells], result: Result
) -> str:
    """Rows that differ, if the two are not equal as snapshots."""
    try:
        rows = [_values(row, result.columns) for row in expected]
    except TypeMismatch:
        return _row_diff(names, expected, actual, result)
    if snapshots_equal(rows, result.rows):
        return ""
    time, _, _ = next(differences(rows, result.rows))
    return f"the snapshots at {time} differ:\n{_row_diff(names, expected, actual, result)}"


def _values(row: Cells, columns: Sequence[Column]) -> tuple[object, ...]:
    return tuple(cells.parse(text, column.type) for text, column in zip(row, columns, strict=True))


def _row_diff(names: Sequence[str], expected: Sequence[Cells], actual: Sequence[Cells], _: Result) -> str:
    """Rows that are missing, after `-`, and rows that should not be, after `+`."""
    missing, extra = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
    if not missing and not extra:
        return ""
    rows = [*(("-", row) for row in missing.elements()), *(("+", row) for row in extra.elements())]
    lines = aligned([names, *(row for _, row in rows)])
    marks = [" ", *(mark for mark, _ in rows)]
    return "\n".join(f"{mark} {line}" for mark, line in zip(marks, lines, strict=True))


# The script of a case, rewritten: in every form it finds the same, by the rules that the case names.

Forms = Mapping[str, tuple[Rewriting, ...]]
"""For each form, how each PATTERN query of a script is rewritten."""


def rule_names() -> tuple[str, ...]:
    """The names of all rules that some form of a query, or a network, is made with."""
    batches = (*SIMPLIFY, *UNUSED, *(batch for form in FORMS.values() for batch in form))
    names = {rule.__name__ for batch in batches for rule in (*batch.parts, *batch.wholes)}
    return tuple(sorted(names | {rule.__name__ for rule in FILTERS.parts}))


def check_rule_names(case: CaseFile) -> None:
    """`CaseError` for the first name in `fires` or `silent` that no rule has."""
    known = rule_names()
    for name, line in (*case.fires, *case.silent):
        if name not in known:
            raise CaseError(case.path, line, f"no rule `{name}`; {did_you_mean(name, known, 'rules')}")


def forms_of(program: Program) -> Forms:
    """The forms of a script; a query that does not have one of them is simplified in it."""
    found = [
        {form.name: form.rewriting for form in forms(query.match, has_readers(query, program))}
        for query in program.pattern_queries
    ]
    return {
        name: tuple(known.get(name, next(iter(known.values()))) for known in found)
        for name in FORMS
        if any(name in known for known in found)
    }


def programs(program: Program, found: Forms) -> Iterator[tuple[str, Program]]:
    """The script in each form that differs from the script as it was written."""
    for name, made in found.items():
        changed = iter(made)
        queries = tuple(
            replace(query, query=next(changed).query) if isinstance(query.query, Match) else query
            for query in program.queries
        )
        if queries != program.queries:
            yield name, replace(program, queries=queries)
    networks = tuple(
        replace(query, query=replace(query.query, root=optimise(query.query.root).root))
        if isinstance(query.query, Algebra)
        else query
        for query in program.queries
    )
    if networks != program.queries:
        yield "networks rewritten", replace(program, queries=networks)


def problems(case: CaseFile, program: Program, found: Forms) -> Iterator[str]:
    """What a case says about rules and is not so."""
    changes = _changes(program, found)
    for name, _ in case.fires:
        if name not in changes:
            others = ", ".join(sorted(changes)) or "none"
            yield f"fires {name}: it did not fire{_why_not(name, program)}; rules that did: {others}"
    for name, _ in case.silent:
        if name in changes:
            yield f"silent {name}: it fired\n{indent(changes[name], '  ')}"


def _changes(program: Program, found: Forms) -> dict[str, str]:
    """What each rule that fired has changed, the first time it did."""
    changes: dict[str, str] = {}
    for made in found.values():
        for query, rewriting in zip(program.pattern_queries, made, strict=True):
            before = query.match
            for step in rewriting.steps:
                change = f"before {step.before or before}\nafter  {step.after or step.query}"
                changes.setdefault(step.rule, change)
                before = step.query
    for named in program.queries:
        if isinstance(named.query, Algebra):
            for moved in optimise(named.query.root).steps:
                changes.setdefault(moved.rule, f"before {moved.before}\nafter  {moved.after}")
    return changes


def _why_not(rule: str, program: Program) -> str:
    """The reason a rule gives for not firing, if it gives one."""
    for query in program.pattern_queries:
        for batches in FORMS.values():
            for refusal in rewrite(query.match, (*SIMPLIFY, *batches)).refusals:
                if refusal.rule == rule:
                    return f" ({refusal.reason})"
    return ""


# The warnings about the script of a case.

NO_WARNINGS = "no warnings"


def warnings_of(case: CaseFile, program: Program) -> str:
    """The full text of all warnings; spaces at the end of a line would be lost in a file."""
    text = render_all(lints(program, case.query), case.query)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def warning_problems(case: CaseFile, program: Program) -> Iterator[str]:
    """What a case says about warnings and is not so. Without a `warnings` section it says nothing."""
    if case.warnings is None:
        return
    found = warnings_of(case, program)
    if found != case.warnings:
        expected, actual = ((text or NO_WARNINGS).split("\n") for text in (case.warnings, found))
        diff = (line.rstrip() for line in difflib.ndiff(expected, actual) if not line.startswith("?"))
        yield "warnings differ:\n" + "\n".join(diff)


def warnings_section(text: str) -> list[str]:
    """The lines of a section that holds these warnings."""
    return ["warnings", *text.split("\n")] if text else ["warnings none"]


# Cases as streams.


@dataclass(frozen=True)
class StreamOutcome:
    """What became of a case as a stream. If it did not run as one, why is in `refusal`, with the `code` of
    the error that a streaming query gets; without a code only Spark can run it so. `has_error`: a case that
    expects an error does not run as a stream either. `is_partial`: events after the last could change some
    rows of the case, so a stream does not have these yet."""

    passed: bool = True
    diff: str = ""
    refusal: str = ""
    code: str = ""
    has_error: bool = False
    is_partial: bool = False

    @property
    def note(self) -> str:
        """Why a case did not run as a stream; empty if it did, or expects an error."""
        if not self.refusal:
            return ""
        where = f"not over streams: {self.code}" if self.code else "not run as a stream without Spark"
        return f"{where}: {self.refusal}"


@dataclass
class StreamTally:
    """How many cases as streams came to what.

    >>> tally = StreamTally()
    >>> tally.add(StreamOutcome())
    >>> tally.add(StreamOutcome(refusal="no WITHIN", code="NEEL4131"))
    >>> print(tally)
    2 cases as streams: 1 agrees, 1 not over streams (NEEL4131: 1)
    """

    agree: int = 0
    partial: int = 0
    differ: int = 0
    not_in_process: int = 0
    with_errors: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: StreamOutcome) -> None:
        if outcome.has_error:
            self.with_errors += 1
        elif outcome.code:
            self.refused[outcome.code] += 1
        elif outcome.refusal:
            self.not_in_process += 1
        elif not outcome.passed:
            self.differ += 1
        else:
            self.agree += 1
            self.partial += outcome.is_partial

    def __str__(self) -> str:
        refused = self.refused.total()
        parts = [f"{self.agree} {'agrees' if self.agree == 1 else 'agree'}"]
        if self.differ:
            parts.append(f"{self.differ} {'differs' if self.differ == 1 else 'differ'}")
        if refused:
            codes = ", ".join(f"{code}: {count}" for code, count in self.refused.most_common())
            parts.append(f"{refused} not over streams ({codes})")
        if self.not_in_process:
            parts.append(f"{self.not_in_process} not run without Spark")
        cases = self.agree + self.differ + refused + self.not_in_process
        lines = [f"{cases} {'case' if cases == 1 else 'cases'} as streams: {', '.join(parts)}"]
        if self.partial:
            lines.append(f"{self.partial} of those that agree: without rows that later events could change")
        if self.with_errors:
            lines.append(f"{self.with_errors} not run as streams: an error is expected")
        return "\n  ".join(lines)


def run_as_stream(case: CaseFile, ways: Sequence[MicroBatching] | None = None) -> StreamOutcome:
    """Run a case as a stream: in micro-batches of one event, of two, and all at once; in order, and out of
    order within the watermark; or only in some `ways`. All must find what the case expects."""
    if not isinstance(case.expected, ExpectedRows):
        return StreamOutcome(has_error=True)
    with in_zone(case.zone):
        ready = prepared(case)
        if isinstance(ready, str):
            return StreamOutcome(False, ready)
        return _as_stream(case, case.expected, ready, ways)


def _as_stream(
    case: CaseFile, expected: ExpectedRows, ready: PreparedCase, ways: Sequence[MicroBatching] | None
) -> StreamOutcome:
    # NumPy and Arrow: cases that do not run as streams do without them.
    from neelc.tools.cases.streaming import RequiresSpark, stream_results
    from neelc.tools.cases.streaming.arrival import MICRO_BATCHINGS

    if any(named.match.complete for named in ready.program.pattern_queries):
        why = "WHEN COMPLETE asks where the data end, and a stream has no end"
        return StreamOutcome(refusal=why, code="NEEL4135")
    ways, is_partial = MICRO_BATCHINGS if ways is None else ways, False
    try:
        for one in stream_results(ready.program, ready.tables, case.query, ways):
            is_partial |= one.expected is not None
            outcome = compare(expected if one.expected is None else as_expected(one.expected), one.found)
            if not outcome.passed:
                return StreamOutcome(False, f"{one.way}:\n{outcome.diff}")
    except UnsupportedQuery as refusal:
        return StreamOutcome(refusal=refusal.what, code=refusal.code)
    except RequiresSpark as refusal:
        return StreamOutcome(refusal=str(refusal))
    return StreamOutcome(is_partial=is_partial)


def as_expected(result: Result) -> ExpectedRows:
    """What a case would expect that has this result."""
    rows = tuple(rows_of(result))
    return ExpectedRows(tuple(names_of(result)) if rows else (), rows)


@dataclass(frozen=True)
class PreparedCase:
    """A case whose script is bound and whose events are read."""

    found: inputs.Inputs
    program: Program
    tables: Tables


def run_case(case: CaseFile) -> CaseOutcome:
    """Run a case on the reference interpreter: as written; with its events in reverse, as order never
    matters; and rewritten in every form. All must find what the case expects, by the rules that it names."""
    with in_zone(case.zone):
        return _run(case)


def _run(case: CaseFile) -> CaseOutcome:
    check_rule_names(case)
    ready = prepared(case)
    program = ready.program if isinstance(ready, PreparedCase) else Program((), ())
    forms = forms_of(program)
    outcome = compare(case.expected, _actual(ready))
    if not outcome.passed:
        return outcome
    for how, result in _other_ways(case, ready, forms):
        other = compare(case.expected, result)
        if not other.passed:
            return replace(other, diff=f"{how}:\n{other.diff}")
    wrong = "\n".join((*problems(case, program, forms), *warning_problems(case, program)))
    return replace(outcome, passed=not wrong, diff=wrong)


def _other_ways(
    case: CaseFile, ready: PreparedCase | str, forms: Forms
) -> Iterator[tuple[str, Result | str]]:
    """How else a case is run, and the result."""
    yield "with the events in reverse order", _actual(prepared(case, backwards=True))
    if isinstance(ready, PreparedCase):
        for name, program in programs(ready.program, forms):
            patterns = "\n".join(str(query.match.pattern) for query in program.pattern_queries)
            yield f"rewritten ({name}) to\n{patterns}\n", _actual(replace(ready, program=program))


def prepared(case: CaseFile, backwards: bool = False) -> PreparedCase | str:
    """What is run, or the text of all diagnostics."""
    try:
        script = parse(case.query)
        if case.untrusted:
            refuse_files_and_agents(script, case.query)
        given = [events.given(script, backwards) for events in case.events]
        found, program = bind(
            script,
            case.query,
            given,
            case.path.parent,
            case.arguments,
            case.aggregates,
            case.agents,
            untrusted=case.untrusted,
        )
        if not program.queries:
            raise CaseError(case.path, case.line_of("query"), "the script has no query to run")
        tables, failures = inputs.read(found, program)
        return _error_text(*failures) if failures else PreparedCase(found, program, tables)
    except NeelError as error:
        return _error_text(error)
    except CallError as error:
        raise CaseError(case.path, case.line_of("query"), str(error)) from None


def _actual(ready: PreparedCase | str) -> Result | str:
    """The rows of the last query, or the text of all diagnostics."""
    if isinstance(ready, str):
        return ready
    try:
        last = len(ready.program.queries) - 1
        [(_, result)] = execute(ready.found, ready.program, ready.tables, [last])
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


def _update(case: CaseFile) -> bool:
    ready = prepared(case)
    actual = _actual(ready)
    text = case.text
    if not compare(case.expected, actual).passed:
        text = _with_section(case, ("matches", "error"), _section(actual, case.expected))
    found = warnings_of(case, ready.program) if isinstance(ready, PreparedCase) else ""
    if case.warnings not in (None, found):
        again = parse_case(text, case.path, case.untrusted)
        text = _with_section(again, ("warnings",), warnings_section(found))
    if text != case.text:
        write_whole(case.path, text)
    return text != case.text


def _with_section(case: CaseFile, words: Sequence[str], new: Sequence[str]) -> str:
    """The text of a case with these lines instead of the section that begins with one of the words."""
    lines = case.text.rstrip().split("\n")
    section = next((s for s in case.sections if s.word in words), None)
    before = lines[: section.line - 1] if section else [*lines, ""]
    after = lines[section.line + len(section.body) :] if section else []
    return "\n".join([*before, *new, *(["", *after] if after else [])]) + "\n"


def _section(actual: Result | str, expected: ExpectedRows | str | None) -> list[str]:
    if isinstance(actual, str):
        return ["error", *actual.split("\n")]
    if not actual.rows:
        return ["matches none"]
    header = expected.header if isinstance(expected, ExpectedRows) else ()
    # A header that has a column's type keeps it.
    typed = [any(cell.startswith(f"{column.name}:") for cell in header) for column in actual.columns]
    names = [
        f"{column.name}:{column.type}" if says_type else name
        for column, name, says_type in zip(actual.columns, names_of(actual), typed, strict=True)
    ]
    return ["matches", *aligned([names, *rows_of(actual)])]
