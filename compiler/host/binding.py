"""A clause and the columns that it reads, bound: or reports of all that is wrong."""

from __future__ import annotations

from collections.abc import Mapping

from neelc.bind.catalog import clock_of
from neelc.bind.findings import Findings
from neelc.bind.parameters import with_arguments
from neelc.bind.recognize import bind_recognize
from neelc.bind.relations import Relation
from neelc.bind.row_patterns import check_row_pattern
from neelc.errors import NeelError
from neelc.host.clauses import Clause
from neelc.ir.expr import Name
from neelc.ir.logical import Clock, Column
from neelc.ir.names import find, meant, written
from neelc.ir.recognize import Recognize
from neelc.ir.rows import MatchRecognize
from neelc.ir.types import TIMESTAMP
from neelc.parse import row_match
from neelc.source import Source, Span


def read_clause(
    source: Source, clause: Clause, arguments: Mapping[str, object], findings: Findings
) -> MatchRecognize | None:
    """The clause as it is written, with the values of its parameters; None, and reports, if it is unreadable.
    What is wrong with its names is reported: it can still be bound, to find what else is wrong."""
    if clause.source is None:
        message, hint = "MATCH_RECOGNIZE stands behind a table", "SELECT * FROM trades MATCH_RECOGNIZE (...)"
        findings.report("NEEL1001", message, clause.span, hint)
        return None
    try:
        parsed = row_match(source, clause.span)
    except NeelError as error:
        for one in error.diagnostics:
            findings.report(one.code, one.message, one.span, one.hint)
        return None
    assert isinstance(parsed, MatchRecognize)
    found = with_arguments(parsed, arguments, findings)
    check_row_pattern(found, findings)
    return found


def bound_clause(
    parsed: MatchRecognize,
    name: str,
    columns: tuple[Column, ...],
    unit: str,
    findings: Findings,
    queries: Mapping[str, tuple[Column, ...]] | None = None,
) -> Recognize | None:
    """The clause over rows with `columns`; None, and reports, if it is wrong. `queries` has the columns of
    those inside of it, by their texts."""
    relation = Relation(name, columns)
    before = len(findings.diagnostics)
    clock = _clock(parsed, columns, unit, findings)
    found = bind_recognize(parsed, relation, clock, findings, queries)
    if found is None or len(findings.diagnostics) > before:
        return None
    twice = _twice(found.output)
    if twice is not None:
        message = f"the result has two columns `{twice}`"
        hint = _twice_hint(twice, found)
        findings.report("NEEL2222", message, _measure_span(parsed, twice, findings), hint)
        return None
    return found


def _twice(columns: tuple[Column, ...]) -> str | None:
    """A name that two columns have."""
    seen: set[str] = set()
    for column in columns:
        if column.name.casefold() in seen:
            return column.name
        seen.add(column.name.casefold())
    return None


def _twice_hint(name: str, found: Recognize) -> str:
    if any(one.casefold() == name.casefold() for one in found.partition):
        return "the result has the columns of PARTITION BY: give the measure another name"
    if found.all_rows and any(one.name.casefold() == name.casefold() for one in found.columns):
        out = "or leave the column out: FROM (SELECT ... FROM ...) MATCH_RECOGNIZE"
        return f"ALL ROWS PER MATCH has the input's columns: give the measure another name, {out}"
    return "give the measure another name"


def _measure_span(parsed: MatchRecognize, name: str, findings: Findings) -> Span:
    measures = [one for one in parsed.measures if find(written(name), [one.alias or ""])]
    return findings.at(*measures[-1:], parsed)


def _clock(
    parsed: MatchRecognize, columns: tuple[Column, ...], unit: str, findings: Findings
) -> Clock | None:
    """How WITHIN measures: by the first of ORDER BY."""
    if parsed.within is None or parsed.within.unit == "EVENT":
        return None
    if not parsed.order_by:
        message = "WITHIN measures the time that rows are ordered by, and there is no ORDER BY"
        findings.report("NEEL3209", message, findings.at(parsed.within, parsed), "add ORDER BY the time")
        return None
    first = parsed.order_by[0].expression
    if isinstance(first, Name):
        name = meant(first.parts[-1], [column.name for column in columns])
        column = next((one for one in columns if one.name == name), None)
        clock = None if column is None else clock_of(column.type, unit)
        if column is not None and clock is None:
            message = (
                f"WITHIN measures the first of ORDER BY, and `{column.name}` is no time but {column.type}"
            )
            hint = "order by a TIMESTAMP, a DATE or an integer first"
            findings.report("NEEL3209", message, findings.at(parsed.within, parsed), hint)
        return clock
    return Clock(TIMESTAMP)
