"""JEPC's MATCH_RECOGNIZE_SEQUENTIAL: from the clause as it is written to one with all names resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from neelc.bind.findings import Findings
from neelc.bind.functions import is_aggregate
from neelc.bind.recognize import canonical_names
from neelc.bind.relations import Relation
from neelc.bind.row_columns import RowColumns
from neelc.bind.row_names import RowNames
from neelc.bind.row_patterns import pattern_variables
from neelc.bind.sequential_ends import without_open_ends
from neelc.bind.typing import typed, typed_condition
from neelc.bind.windows import bind_window
from neelc.ir import expr as e
from neelc.ir import rows as r
from neelc.ir.logical import Clock, OutputColumn
from neelc.ir.names import bare, find, find_variable, same, variable, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.recognize import RowDefinition
from neelc.ir.sequential import Sequential

_NAVIGATION = ("prev", "next", "first", "last", "classifier", "match_number", "start", "end", "temp")

Measures = Mapping[str, e.Expr]
"""Measures by their names: JEPC's global variables."""


def bind_sequential(
    clause: r.MatchSequential, source: Relation, clock: Clock | None, findings: Findings
) -> Sequential | None:
    """The clause over events of `source`, whose times `clock` tells; None, and reports, if it is wrong.

    The symbols must have been checked: `row_patterns.py` does.
    """
    before = len(findings.diagnostics)
    _check_pattern(clause.pattern, findings)
    _check_functions(clause, findings)
    _check_names(clause.measures, findings)
    if len(findings.diagnostics) > before:
        return None
    columns = RowColumns(source, findings)
    names = RowNames(columns, {s: (variable(s),) for s in pattern_variables(clause)}, findings, False)
    measures = tuple(_measure(one, names, findings) for one in clause.measures)
    variables = {measure.name: measure.expression for measure in measures}
    definitions = tuple(
        RowDefinition(variable(one.name), _condition(one, variables, names, findings))
        for one in clause.definitions
    )
    partition = tuple(_partition_column(one, columns, findings) for one in clause.partition_by)
    within = None if clause.within is None else bind_window(clause.within, clock, findings)
    if len(findings.diagnostics) > before:
        return None
    pattern = without_open_ends(canonical_names(clause.pattern))
    return Sequential(
        source.columns or (), pattern, definitions, partition, measures, within, span=clause.span
    )


def _check_pattern(pattern: r.RowPattern, findings: Findings) -> None:
    """JEPC's patterns have symbols, sequences, alternatives and repetitions (thesis, 6.3.1.3)."""
    for node in walk(pattern):
        match node:
            case r.RowPermute() | r.RowExclusion() | r.RowAnchor():
                message = f"MATCH_RECOGNIZE_SEQUENTIAL has no `{node}`"
                hint = "it belongs to MATCH_RECOGNIZE"
            case r.RowRepeat(reluctant=True):
                message = "every match is reported here: no repetition is reluctant"
                hint = "leave out the ?"
            case _:
                continue
        findings.report("NEEL3031", message, findings.at(node, pattern), hint)


def _check_functions(clause: r.MatchSequential, findings: Findings) -> None:
    """Values are those of the event that is judged, and of the last event of each symbol."""
    expressions = (
        *(one.condition for one in clause.definitions),
        *(one.expression for one in clause.measures),
    )
    for node in (inner for expression in expressions for inner in walk(expression)):
        is_moving = isinstance(node, e.Call) and (node.name.lower() in _NAVIGATION or is_aggregate(node))
        if is_moving or isinstance(node, e.RunningFinal):
            name = node.name if isinstance(node, e.Call) else str(node)
            message = f"`{name}` moves over the rows of a match, and MATCH_RECOGNIZE_SEQUENTIAL has no such"
            hint = "name an event by its symbol, or a variable of MEASURES"
            findings.report("NEEL3206", message, findings.at(node, clause), hint)


def _check_names(measures: tuple[r.Output, ...], findings: Findings) -> None:
    seen: list[str] = []
    for measure in measures:
        if measure.alias is None:
            continue
        if find(measure.alias, seen) is not None:
            message = f"two measures are called `{measure.alias}`"
            place = findings.word(measure.alias, measure, nth=-1)
            findings.report("NEEL2009", message, place, "give one of them another name")
        seen.append(measure.alias)


def _measure(item: r.Output, names: RowNames, findings: Findings) -> OutputColumn:
    assert item.alias is not None, "a measure without a name has been reported"
    value, kind = typed(names.bound(item.expression), findings.report)
    return OutputColumn(bare(item.alias), value, kind, span=item.span)


def _condition(definition: r.Definition, variables: Measures, names: RowNames, findings: Findings) -> e.Expr:
    own = variable(definition.name)

    def with_variables(node: Node) -> Node:
        if isinstance(node, e.Name) and not _is_attribute(node, names):
            known = next((name for name in variables if same(node.parts[0], written(name))), None)
            if known is not None:
                value = _before(own, variables[known])
                for part in node.parts[1:]:
                    value = names.columns.field(value, part, node)
                return value
        return map_children(node, with_variables)

    condition = with_variables(definition.condition)
    assert isinstance(condition, e.Expr)
    return typed_condition(names.bound(condition), f"`{definition.name}`", findings.report)


def _is_attribute(node: e.Name, names: RowNames) -> bool:
    """Whether this is a column, of the event that is judged or of a symbol's; else it may be a variable."""
    first = node.parts[0]
    return names.columns.named(first) is not None or (
        len(node.parts) > 1 and find_variable(first, names.variables) is not None
    )


def _before(own: str, value: e.Expr) -> e.Expr:
    """The value that a variable has before the event that emits `own` is taken: an event sets variables
    after its condition is judged (JEPC thesis, 9.2.3)."""

    def change(node: Node) -> Node:
        if isinstance(node, e.AtRow) and (not node.variables or own in node.variables):
            return replace(node, place=1)
        return map_children(node, change)

    changed = change(value)
    assert isinstance(changed, e.Expr)
    return changed


def _partition_column(item: e.Expr, columns: RowColumns, findings: Findings) -> str:
    if isinstance(item, e.Name):
        found = columns.column(item.parts, item, ())
        if isinstance(found, e.Attribute):
            return bare(found.name)
        if found is None:
            return ""
    findings.report("NEEL3208", "PARTITION BY takes columns", item.span, "compute it in a subquery before")
    return ""
