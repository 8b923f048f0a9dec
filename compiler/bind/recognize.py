"""SQL:2016's MATCH_RECOGNIZE: from the clause as it is written to one with all names resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neelc.bind.coercion import is_orderable
from neelc.bind.findings import Findings
from neelc.bind.functions import is_row_aggregate
from neelc.bind.output_names import output_name
from neelc.bind.relations import Relation
from neelc.bind.row_columns import RowColumns
from neelc.bind.row_names import FORMS, RowNames
from neelc.bind.row_queries import RowQueries
from neelc.bind.typing import typed, typed_condition
from neelc.bind.windows import bind_window
from neelc.ir import rows as r
from neelc.ir.expr import Attribute, Call, Expr, Name, RunningFinal, Star
from neelc.ir.logical import Clock, Column, OutputColumn
from neelc.ir.names import bare, find, find_variable, variable, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.recognize import OMIT, SHOW, UNMATCHED, Recognize, RowDefinition, RowSkip
from neelc.ir.types import DataType

Variables = Mapping[str, tuple[str, ...]]


def bind_recognize(
    clause: r.MatchRecognize,
    source: Relation,
    clock: Clock | None,
    findings: Findings,
    queries: Mapping[str, tuple[Column, ...]] | None = None,
) -> Recognize | None:
    """The clause over rows of `source`, whose times `clock` tells; None, and reports, if it is wrong.
    `queries` has the columns of those inside of it, by their texts.

    `row_patterns.py` has checked the variables; what it reported is not reported again.
    """
    before = len(findings.diagnostics)
    columns = RowColumns(source, findings)
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
    unit = (clock.unit if clock else None) or "MILLISECOND"
    return Recognize(
        source.columns or (), canonical_names(clause.pattern), definitions,
        tuple(key if isinstance(key, str) else key.name for key in keys), order, measures,
        _all_rows(clause.rows), _skip(clause.skip, variables), within, unit,
        tuple(computed), () if nested is None else tuple(nested.found.values()), span=clause.span,
    )  # fmt: skip


def variables_of(clause: r.MatchRecognize) -> Variables:
    """The variables and subsets by their names as they are written, and the variables they stand for: none
    for one that is defined, but not in the pattern. That has been reported, and it may be named elsewhere."""
    from neelc.bind.row_patterns import pattern_variables

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


def _partition_column(item: Expr, columns: RowColumns, findings: Findings) -> str | OutputColumn:
    """The name of a column, or one that is computed."""
    if _is_of_a_match(item):
        message = f"`{item}` belongs to a match, and PARTITION BY divides the rows before there is one"
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
    item: Expr, value: Expr, kind: DataType, columns: RowColumns, findings: Findings
) -> OutputColumn:
    """The result calls it as Spark would: by the name of a field, or by the text."""
    name = bare(item.parts[-1]) if isinstance(item, Name) else output_name(item)
    if columns.named(written(name)) is not None:
        message = f"what PARTITION BY computes would be called `{name}`, and there is a column of that name"
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


def _sort_item(item: r.SortItem, columns: RowColumns, findings: Findings) -> r.SortItem:
    if _is_of_a_match(item.expression):
        message = f"`{item.expression}` belongs to a match, and ORDER BY sorts the rows before there is one"
        hint = "to sort matches, ORDER BY a measure behind the clause"
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
    """Whether an expression asks for rows of a match, or about it."""
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
        return RowSkip(skip.kind, span=skip.span)
    known = find_variable(skip.variable, variables)
    kind = "TO LAST" if skip.kind == "TO" else skip.kind
    return RowSkip(kind, variables[known] if known else (), span=skip.span)
