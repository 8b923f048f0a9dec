"""JEPC's MATCH_RECOGNIZE_SEQUENTIAL: from the clause as written to one with all names resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neelc.catalog.streams import ColumnSource
from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import RowDefinition, Sequential
from neelc.ir.names import bare, find, find_variable, same, variable, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.program import Clock, OutputColumn
from neelc.ir.row_patterns import RowAlternation, RowEmpty, RowPattern, RowRepeat, RowSequence
from neelc.pattern.bind.windows import bind_window
from neelc.rows.bind.expressions import InputColumns, RowNames
from neelc.rows.bind.recognize import canonical_names, pattern_variables
from neelc.scalar.functions import is_aggregate
from neelc.scalar.typing import typed, typed_condition

# Repetitions at the ends of JEPC's patterns.
#
# "The function ignores all Kleene operators that are applied to the first and last symbol in P. In the case
# of a Kleene star, the symbol is removed completely from the beginning or ending of the pattern. And in the
# case of a Kleene plus, only the operator is removed." (JEPC thesis, 6.3.3.4). So each match is reported
# for the shortest of the sequences around it. Here that holds for every repetition: at an end it is read
# the least number of times, and what then is at the end is read in the same way.

Parts = tuple[RowPattern, ...]


def without_open_ends(pattern: RowPattern) -> RowPattern:
    """The pattern with every repetition at its beginning and end read the least number of times.

    >>> from neelc.ir.row_patterns import RowVariable
    >>> a, b, c = map(RowVariable, "ABC")
    >>> star, plus = RowRepeat(b, 0, None), RowRepeat(b, 1, None)
    >>> print(without_open_ends(RowSequence((star, a, star, c, plus))))
    A B* C B
    >>> print(without_open_ends(RowSequence((star, RowRepeat(a, 0, 1), c))))
    C

    An alternative that begins so is another pattern, and the rest of that one may begin so too.

    >>> print(without_open_ends(RowSequence((RowAlternation((plus, RowSequence((star, c)))), a))))
    (B | C) A
    >>> print(without_open_ends(RowSequence((RowAlternation((star, c)), plus, a))))
    B A | C B+ A

    What is left of a pattern may be nothing; then it never matches.

    >>> print(without_open_ends(star))
    ()
    """
    return _mirrored(_begun(_mirrored(_begun(pattern))))


def _begun(pattern: RowPattern) -> RowPattern:
    return _one_of([_in_sequence(way) for way in _ways((pattern,))])


def _ways(parts: Parts) -> list[Parts]:
    """The alternatives of a sequence of parts, each without repetition at its beginning."""
    if not parts:
        return [()]
    first, rest = parts[0], parts[1:]
    match first:
        case RowEmpty():
            return _ways(rest)
        case RowSequence(inner):
            return _ways((*inner, *rest))
        case RowRepeat(part, least):
            again = (RowRepeat(part, least - 1, least - 1),) if least > 1 else ()
            return _ways((part, *again, *rest)) if least else _ways(rest)
        case RowAlternation(branches):
            begun = [_ways((branch,)) for branch in branches]
            if all(way for ways in begun for way in ways):
                return [(_one_of([_in_sequence(way) for ways in begun for way in ways]), *rest)]
            return [way for branch in branches for way in _ways((branch, *rest))]
    return [parts]


def _in_sequence(parts: Sequence[RowPattern]) -> RowPattern:
    if len(parts) == 1:
        return parts[0]
    return RowSequence(tuple(parts)) if parts else RowEmpty()


def _one_of(patterns: Sequence[RowPattern]) -> RowPattern:
    different = tuple(dict.fromkeys(patterns))
    return different[0] if len(different) == 1 else RowAlternation(different)


def _mirrored(pattern: RowPattern) -> RowPattern:
    """The pattern read from its end."""

    def change(node: Node) -> Node:
        changed = map_children(node, change)
        return RowSequence(changed.parts[::-1]) if isinstance(changed, RowSequence) else changed

    mirrored = change(pattern)
    assert isinstance(mirrored, RowPattern)
    return mirrored


_NAVIGATION = ("prev", "next", "first", "last", "classifier", "match_number", "start", "end", "temp")

Measures = Mapping[str, e.Expr]
"""Measures by their names: JEPC's global variables."""


def bind_sequential(
    clause: r.MatchSequential, source: ColumnSource, clock: Clock | None, findings: Findings
) -> Sequential | None:
    """The clause over events of `source`, whose times follow `clock`; None, and reports, if it is wrong.

    The symbols must have been checked: `row_patterns.py` does.
    """
    before = len(findings.diagnostics)
    _check_pattern(clause.pattern, findings)
    _check_functions(clause, findings)
    _check_names(clause.measures, findings)
    if len(findings.diagnostics) > before:
        return None
    columns = InputColumns(source, findings)
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
    """Values are those of the event that is tested, and of the last event of each symbol."""
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
            place = findings.at(measure.alias, measure)
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
    """Whether this is a column, of the event that is tested or of a symbol's; else it may be a variable."""
    first = node.parts[0]
    return names.columns.named(first) is not None or (
        len(node.parts) > 1 and find_variable(first, names.variables) is not None
    )


def _before(own: str, value: e.Expr) -> e.Expr:
    """The value that a variable has before the event that emits `own` is taken: an event sets variables
    after its condition is evaluated (JEPC thesis, 9.2.3)."""

    def change(node: Node) -> Node:
        if isinstance(node, e.AtRow) and (not node.variables or own in node.variables):
            return replace(node, place=1)
        return map_children(node, change)

    changed = change(value)
    assert isinstance(changed, e.Expr)
    return changed


def _partition_column(item: e.Expr, columns: InputColumns, findings: Findings) -> str:
    if isinstance(item, e.Name):
        column = columns.column(item.parts, item, ())
        if isinstance(column, e.Attribute):
            return bare(column.name)
        if column is None:
            return ""
    findings.report("NEEL3208", "PARTITION BY takes columns", item.span, "compute it in a subquery before")
    return ""
