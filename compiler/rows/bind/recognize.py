"""SQL:2016's MATCH_RECOGNIZE: from the clause as written to one with all names resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from neelc.catalog.catalog import clock_of
from neelc.catalog.streams import ColumnSource, SelectNames
from neelc.errors import NeelError
from neelc.findings import Findings, variable_meant
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import OMIT, SHOW, UNMATCHED, Recognize, RowDefinition, RowSkip
from neelc.ir.expressions import Attribute, Call, Expr, Name, RunningFinal, Star
from neelc.ir.names import bare, find, find_variable, meant, variable, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.program import Clock, Column, OutputColumn
from neelc.ir.row_patterns import (
    AbsentSymbol,
    Instants,
    MatchRecognize,
    MatchTemporal,
    NamedRelation,
    PresentSymbol,
)
from neelc.ir.script import HostClause, Matcher
from neelc.ir.types import TIMESTAMP, DataType, is_orderable
from neelc.pattern.bind.outputs import output_name
from neelc.pattern.bind.windows import bind_window
from neelc.rows.bind.expressions import FORMS, InputColumns, RowNames, RowQueries
from neelc.scalar.functions import is_row_aggregate
from neelc.scalar.parameters import with_arguments, with_short_names
from neelc.scalar.typing import typed, typed_condition
from neelc.source import Source, Span
from neelc.syntax import row_match

Variables = Mapping[str, tuple[str, ...]]


def bind_recognize(
    clause: r.MatchRecognize,
    source: ColumnSource,
    clock: Clock | None,
    findings: Findings,
    queries: Mapping[str, tuple[Column, ...]] | None = None,
) -> Recognize | None:
    """The clause over rows of `source`, whose times follow `clock`; None, and reports, if it is wrong.
    `queries` has the columns of those inside of it, by their texts.

    `row_patterns.py` has checked the variables; what it reported is not reported again.
    """
    before = len(findings.diagnostics)
    columns = InputColumns(source, findings)
    variables = variables_of(clause)
    announced = tuple(one.alias for one in clause.measures if one.alias is not None)
    taken = tuple(one.name for one in source.columns or ())
    nested = None if queries is None else RowQueries(queries, taken, findings)
    defining = RowNames(columns, variables, findings, may_be_final=False, announced=announced, queries=nested)
    definitions = tuple(
        RowDefinition(variable(one.name), _condition(one, defining, findings)) for one in clause.definitions
    )
    measures = _measures(clause.measures, replace(defining, may_be_final=True), findings)
    keys = [_partition_column(one, columns, findings) for one in clause.partition_by]
    computed = dict.fromkeys(key for key in keys if isinstance(key, OutputColumn))
    _check_computed(list(computed), clause, findings)
    order = tuple(_sort_item(one, columns, findings) for one in clause.order_by)
    within = None if clause.within is None else bind_window(clause.within, clock, findings)
    if len(findings.diagnostics) > before:
        return None
    return Recognize(
        source.columns or (), canonical_names(clause.pattern), definitions,
        tuple(key if isinstance(key, str) else key.name for key in keys), order, measures,
        _all_rows(clause.rows), _skip(clause.skip, variables), within,
        computed=tuple(computed), nested=() if nested is None else tuple(nested.found.values()),
        span=clause.span,
    )  # fmt: skip


def variables_of(clause: r.MatchRecognize) -> Variables:
    """The variables and subsets by their names as they are written, and the variables they stand for: none
    for one that is defined, but not in the pattern. That has been reported, and it may be named elsewhere."""

    found: dict[str, tuple[str, ...]] = {name: (variable(name),) for name in pattern_variables(clause)}
    for subset in clause.subsets:
        found[subset.name] = tuple(variable(member) for member in subset.members)
    for definition in clause.definitions:
        if find_variable(definition.name, found) is None:
            found[definition.name] = ()
    return found


def canonical_names(pattern: r.RowPattern) -> r.RowPattern:
    """The pattern with the names that CLASSIFIER() shows."""

    def change(node: Node) -> Node:
        if isinstance(node, r.RowVariable):
            return replace(node, name=variable(node.name))
        return map_children(node, change)

    changed = change(pattern)
    assert isinstance(changed, r.RowPattern)
    return changed


def _condition(definition: r.Definition, names: RowNames, findings: Findings) -> Expr:
    return typed_condition(names.bound(definition.condition), f"`{definition.name}`", findings.report)


def _measures(items: Sequence[r.Output], names: RowNames, findings: Findings) -> tuple[OutputColumn, ...]:
    """Each may name those before it."""
    found: list[OutputColumn] = []
    known: dict[str, Expr] = {}
    for item in items:
        if isinstance(item.expression, Star):
            continue  # that is no measure
        found.append(_measure(item, replace(names, measures=dict(known)), findings))
        if item.alias is not None and find(item.alias, known) is None:
            known[item.alias] = found[-1].expression
    return tuple(found)


def _measure(item: r.Output, names: RowNames, findings: Findings) -> OutputColumn:
    value, kind = typed(names.bound(item.expression), findings.report)
    return OutputColumn(
        bare(item.alias or written(output_name(item.expression))), value, kind, span=item.span
    )


def _partition_column(item: Expr, columns: InputColumns, findings: Findings) -> str | OutputColumn:
    """The name of a column, or one that is computed."""
    if _is_of_a_match(item):
        message = f"`{item}` belongs to a match, but PARTITION BY divides the rows before any match is found"
        findings.report("NEEL3208", message, item.span)
        return ""
    read = RowNames(columns, {}, findings, may_be_final=False).argument(item)
    if read is None:
        return ""  # it has been reported
    value, kind = typed(read[0], findings.report)
    if isinstance(value, Attribute) and is_orderable(kind):
        return bare(value.name)
    if not any(isinstance(part, Attribute) for part in walk(value)):
        message, hint = f"`{item}` is the same for all rows", "leave it out"
    elif not is_orderable(kind):
        message, hint = f"PARTITION BY compares values, and those of {kind} cannot be compared", None
    else:
        return _computed(item, value, kind, columns, findings)
    findings.report("NEEL3208", message, item.span, hint)
    return ""


def _computed(
    item: Expr, value: Expr, kind: DataType, columns: InputColumns, findings: Findings
) -> OutputColumn:
    """The result calls it as Spark would: by the name of a field, or by the text."""
    name = bare(item.parts[-1]) if isinstance(item, Name) else output_name(item)
    if columns.named(written(name)) is not None:
        message = f"PARTITION BY would compute a column `{name}`, but there already is one"
        findings.report("NEEL2222", message, item.span, "compute it in a subquery, under another name")
    return OutputColumn(name, value, kind)


def _check_computed(computed: Sequence[OutputColumn], clause: r.MatchRecognize, findings: Findings) -> None:
    names = [one.name for one in computed]
    for one in computed:
        if names.count(one.name) > 1:
            message = f"PARTITION BY computes two columns `{one.name}`"
            findings.report(
                "NEEL2222", message, findings.at(one.expression, clause), "name them in a subquery"
            )
            return


def _sort_item(item: r.SortItem, columns: InputColumns, findings: Findings) -> r.SortItem:
    if _is_of_a_match(item.expression):
        message = (
            f"`{item.expression}` belongs to a match, but ORDER BY sorts the rows before any match is found"
        )
        hint = "to sort matches, write ORDER BY with a measure after the clause"
        findings.report("NEEL3206", message, item.expression.span, hint)
        return item
    found = RowNames(columns, {}, findings, may_be_final=False).argument(item.expression)
    if found is None:
        return item
    value, kind = typed(found[0], findings.report)
    if not is_orderable(kind):
        message = f"ORDER BY compares values, and those of {kind} cannot be compared"
        findings.report("NEEL2101", message, item.expression.span)
    return replace(item, expression=value)


def _is_of_a_match(expression: Expr) -> bool:
    """Whether an expression refers to rows of a match, or to the match."""
    return any(
        isinstance(node, RunningFinal)
        or (isinstance(node, Call) and (node.name.lower() in FORMS or is_row_aggregate(node)))
        for node in walk(expression)
    )


def _all_rows(rows: str | None) -> str | None:
    if rows is None or rows.startswith("ONE ROW"):
        return None
    return next((mode for mode in (SHOW, OMIT, UNMATCHED) if rows.endswith(mode)), SHOW)


def _skip(skip: r.Skip | None, variables: Variables) -> RowSkip:
    if skip is None:
        return RowSkip()
    if skip.variable is None:
        return RowSkip(skip.kind, span=skip.skip_keyword)
    known = find_variable(skip.variable, variables)
    kind = "TO LAST" if skip.kind == "TO" else skip.kind
    return RowSkip(kind, variables[known] if known else (), span=skip.skip_keyword)


# The MATCH_RECOGNIZE clauses: their variables, definitions and measures, checked against their input.


def matched_columns(matcher: Matcher, source: ColumnSource, findings: Findings) -> tuple[Column, ...] | None:
    """The columns that the clause makes of its input; None when they cannot be known."""
    variables = pattern_variables(matcher)
    check_definitions(matcher, variables, findings)
    subsets = matcher.subsets if isinstance(matcher, r.MatchRecognize) else ()
    if isinstance(matcher, r.MatchRecognize):
        _check_standard(matcher, variables, findings)
    symbols = tuple(
        ColumnSource(name, source.columns)
        for name in (*variables, *(s.name for s in subsets), *(d.name for d in matcher.definitions))
    )
    plain = SelectNames((source,), findings)
    partition = [(str(x), typed(plain.resolved(x), findings.report)[1]) for x in matcher.partition_by]
    if isinstance(matcher, r.MatchRecognize):
        for item in matcher.order_by:
            typed(plain.resolved(item.expression), findings.report)
    inside = SelectNames((source,), findings, symbols, in_row_pattern=True)
    measures = _bound_measures(matcher.measures, inside, findings)
    if not isinstance(matcher, r.MatchRecognize):
        # JEPC binds variables in MEASURES; conditions may use them.
        inside = replace(inside, plain=(source, ColumnSource("MEASURES", measures)))
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
            case r.RowVariable(name) | AbsentSymbol(name) | PresentSymbol(name):
                found.append(name)
            case NamedRelation(left, _, right):
                found.extend((left, right))
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
    check_definitions(matcher, variables, findings)
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


def _bound_measures(items: Sequence[r.Output], names: SelectNames, findings: Findings) -> tuple[Column, ...]:
    columns: list[Column] = []
    for item in items:
        _check_measure(item, findings)
        if isinstance(item.expression, Star):
            continue
        _, kind = typed(names.resolved(item.expression), findings.report)
        columns.append(Column(bare(item.alias or written(output_name(item.expression))), kind))
    return tuple(columns)


def check_definitions(matcher: Matcher, variables: list[str], findings: Findings) -> None:
    seen: list[str] = []
    for definition in matcher.definitions:
        place = findings.at(definition.name, definition)
        if find_variable(definition.name, seen) is not None:
            message = f"`{bare(definition.name)}` is defined twice"
            findings.report("NEEL3203", message, place, "join the two conditions with AND")
        elif find_variable(definition.name, variables) is None:
            _report_foreign(definition.name, variables, place, findings)
        seen.append(definition.name)


def _check_standard(matcher: r.MatchRecognize, variables: list[str], findings: Findings) -> None:
    subsets: list[str] = []
    for subset in matcher.subsets:
        place = findings.at(subset.name, subset)
        if find_variable(subset.name, [*variables, *subsets]) is not None:
            message = f"`{bare(subset.name)}` already names something in this pattern"
            findings.report("NEEL3203", message, place, "give the subset another name")
        subsets.append(subset.name)
        for member in subset.members:
            if find_variable(member, variables) is None:
                _report_foreign(member, variables, findings.at(member, subset), findings)
    if matcher.skip is not None and matcher.skip.variable is not None:
        target = matcher.skip.variable
        if find_variable(target, [*variables, *subsets]) is None:
            _report_foreign(target, variables, findings.at(target, matcher.skip), findings)
    excluded = next((n for n in walk(matcher.pattern) if isinstance(n, r.RowExclusion)), None)
    if excluded is not None and (matcher.rows or "").endswith("WITH UNMATCHED ROWS"):
        message = "an exclusion cannot be combined with ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        findings.report("NEEL3205", message, findings.at(excluded), "leave out WITH UNMATCHED ROWS")


def _report_foreign(name: str, variables: list[str], place: Span, findings: Findings) -> None:
    message = f"the pattern has no variable `{bare(name)}`"
    findings.report("NEEL3202", message, place, variable_meant(name, variables))


# A clause and the columns that it reads, bound: or reports of all that is wrong.


def read_clause(
    source: Source, clause: HostClause, arguments: Mapping[str, object], findings: Findings
) -> MatchRecognize | None:
    """The clause as written, with the values of its parameters; None, and reports, if it is unreadable.
    What is wrong with its names is reported: it can still be bound, to find what else is wrong."""
    if clause.source is None:
        message, hint = "MATCH_RECOGNIZE must follow a table", "SELECT * FROM trades MATCH_RECOGNIZE (...)"
        findings.report("NEEL1001", message, clause.span, hint)
        return None
    try:
        parsed = row_match(source, clause.span)
    except NeelError as error:
        for one in error.diagnostics:
            findings.report(one.code, one.message, one.span, one.hint)
        return None
    assert isinstance(parsed, MatchRecognize)
    found = with_short_names(with_arguments(parsed, arguments, findings))
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
    relation = ColumnSource(name, columns)
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
    return replace(found, unit=unit)


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
        message = "WITHIN measures the time by which rows are ordered, but there is no ORDER BY"
        findings.report("NEEL3209", message, findings.at(parsed.within, parsed), "add ORDER BY the time")
        return None
    first = parsed.order_by[0].expression
    if isinstance(first, Name):
        name = meant(first.parts[-1], [column.name for column in columns])
        column = next((one for one in columns if one.name == name), None)
        clock = None if column is None else clock_of(column.type, unit)
        if column is not None and clock is None:
            message = (
                f"WITHIN measures the first column of ORDER BY, but `{column.name}` is {column.type}, "
                "not a time"
            )
            hint = "order by a TIMESTAMP, a DATE or an integer first"
            findings.report("NEEL3209", message, findings.at(parsed.within, parsed), hint)
        return clock
    return Clock(TIMESTAMP)
