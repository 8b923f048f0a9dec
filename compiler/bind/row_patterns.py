"""The MATCH_RECOGNIZE clauses: their variables, definitions and measures, checked against their input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from neelc.bind.findings import Findings
from neelc.bind.output_names import output_name
from neelc.bind.relations import Names, Relation
from neelc.bind.suggest import variable_meant
from neelc.bind.typing import typed, typed_condition
from neelc.ir import rows as r
from neelc.ir.expr import Star
from neelc.ir.logical import Column
from neelc.ir.names import bare, find_variable, written
from neelc.ir.node import Node, walk
from neelc.ir.script import Matcher
from neelc.ir.temporal import Absent, Instants, MatchTemporal
from neelc.source import Span


def matched_columns(matcher: Matcher, source: Relation, findings: Findings) -> tuple[Column, ...] | None:
    """The columns that the clause makes of its input; None when they cannot be known."""
    variables = pattern_variables(matcher)
    _check_definitions(matcher, variables, findings)
    subsets = matcher.subsets if isinstance(matcher, r.MatchRecognize) else ()
    if isinstance(matcher, r.MatchRecognize):
        _check_standard(matcher, variables, findings)
    symbols = tuple(
        Relation(name, source.columns)
        for name in (*variables, *(s.name for s in subsets), *(d.name for d in matcher.definitions))
    )
    plain = Names((source,), findings)
    partition = [(str(x), typed(plain.resolved(x), findings.report)[1]) for x in matcher.partition_by]
    if isinstance(matcher, r.MatchRecognize):
        for item in matcher.order_by:
            typed(plain.resolved(item.expression), findings.report)
    inside = Names((source,), findings, symbols, in_row_pattern=True)
    measures = _measures(matcher.measures, inside, findings)
    if not isinstance(matcher, r.MatchRecognize):
        # JEPC binds variables in MEASURES; conditions may use them.
        inside = replace(inside, plain=(source, Relation("MEASURES", measures)))
    for definition in matcher.definitions:
        typed_condition(inside.resolved(definition.condition), f"`{definition.name}`", findings.report)
    if source.columns is None:
        return None
    if isinstance(matcher, r.MatchRecognize) and (matcher.rows or "").startswith("ALL ROWS"):
        return (*source.columns, *measures)
    if isinstance(matcher, r.MatchRecognize):
        return (*(Column(bare(name.split(".")[-1]), kind) for name, kind in partition), *measures)
    return measures


def pattern_variables(matcher: Matcher) -> list[str]:
    """The variables, or symbols, of the pattern, each once, in the order of the text."""
    whole: Iterable[Node] = matcher.patterns if isinstance(matcher, MatchTemporal) else (matcher.pattern,)
    found: list[str] = []
    for node in (inner for part in whole for inner in walk(part)):
        match node:
            case r.RowVariable(name) | Absent(name):
                found.append(name)
            case Instants(names):
                found.extend(names)
    unique: list[str] = []
    for name in found:
        if find_variable(name, unique) is None:
            unique.append(name)
    return unique


def check_row_pattern(matcher: r.MatchRecognize, findings: Findings) -> None:
    """Report what is wrong with the names of a clause, whatever it reads."""
    variables = pattern_variables(matcher)
    _check_definitions(matcher, variables, findings)
    _check_standard(matcher, variables, findings)
    for item in matcher.measures:
        _check_measure(item, findings)


def _check_measure(item: r.Output, findings: Findings) -> None:
    if isinstance(item.expression, Star):
        message, hint = "MEASURES lists values, each with a name", "for example LAST(A.price) AS price"
        findings.report("NEEL3204", message, item.span, hint)
    elif item.alias is None:
        message, hint = "a measure needs a name", f"{item.expression} AS name"
        findings.report("NEEL3204", message, item.span, hint)


def _measures(items: Sequence[r.Output], names: Names, findings: Findings) -> tuple[Column, ...]:
    columns: list[Column] = []
    for item in items:
        _check_measure(item, findings)
        if isinstance(item.expression, Star):
            continue
        _, kind = typed(names.resolved(item.expression), findings.report)
        columns.append(Column(bare(item.alias or written(output_name(item.expression))), kind))
    return tuple(columns)


def _check_definitions(matcher: Matcher, variables: list[str], findings: Findings) -> None:
    seen: list[str] = []
    for definition in matcher.definitions:
        place = findings.word(definition.name, definition)
        if find_variable(definition.name, seen) is not None:
            message = f"`{bare(definition.name)}` is defined twice"
            findings.report("NEEL3203", message, place, "join the two conditions with AND")
        elif find_variable(definition.name, variables) is None:
            _report_foreign(definition.name, variables, place, findings)
        seen.append(definition.name)


def _check_standard(matcher: r.MatchRecognize, variables: list[str], findings: Findings) -> None:
    subsets: list[str] = []
    for subset in matcher.subsets:
        place = findings.word(subset.name, subset)
        if find_variable(subset.name, [*variables, *subsets]) is not None:
            message = f"`{bare(subset.name)}` already names something in this pattern"
            findings.report("NEEL3203", message, place, "give the subset another name")
        subsets.append(subset.name)
        for member in subset.members:
            if find_variable(member, variables) is None:
                _report_foreign(member, variables, findings.word(member, subset, nth=-1), findings)
    if matcher.skip is not None and matcher.skip.variable is not None:
        target = matcher.skip.variable
        if find_variable(target, [*variables, *subsets]) is None:
            _report_foreign(target, variables, findings.word(target, matcher.skip, nth=-1), findings)
    excluded = next((n for n in walk(matcher.pattern) if isinstance(n, r.RowExclusion)), None)
    if excluded is not None and (matcher.rows or "").endswith("WITH UNMATCHED ROWS"):
        message = "an exclusion cannot stand with ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        findings.report("NEEL3205", message, findings.at(excluded), "leave out WITH UNMATCHED ROWS")


def _report_foreign(name: str, variables: list[str], place: Span, findings: Findings) -> None:
    message = f"the pattern has no variable `{bare(name)}`"
    findings.report("NEEL3202", message, place, variable_meant(name, variables))
