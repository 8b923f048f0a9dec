"""JEPC's MATCH_RECOGNIZE_SEQUENTIAL: from the clause as written to one with all names resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from neelc.catalog.streams import ColumnSource
from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import RowDefinition, Sequential
from neelc.ir.names import bare, find, find_variable, same, variable, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.program import Clock, OutputColumn
from neelc.ir.row_patterns import (
    Following,
    RowAlternation,
    RowConjunction,
    RowEmpty,
    RowNegation,
    RowPattern,
    RowRepeat,
    RowSequence,
)
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


# What stands alone between two symbols.


def negations_at_ends(pattern: RowPattern) -> list[RowNegation]:
    """The negated symbols that nothing can stand before, or nothing behind.

    >>> from neelc.ir.row_patterns import RowVariable
    >>> a, b = RowVariable("A"), RowVariable("B")
    >>> print(*negations_at_ends(RowSequence((RowNegation(a), b, RowRepeat(a, 0, 1), RowNegation(b)))))
    !A !B
    >>> negations_at_ends(RowSequence((a, RowNegation(b), a)))
    []
    """
    return [*_first_negations(pattern), *_first_negations(_mirrored(pattern))]


def _first_negations(pattern: RowPattern) -> Iterator[RowNegation]:
    match pattern:
        case RowNegation():
            yield pattern
        case RowAlternation(parts):
            for part in parts:
                yield from _first_negations(part)
        case RowRepeat(part):
            yield from _first_negations(part)
        case RowSequence(parts):
            for part in parts:
                yield from _first_negations(part)
                if not _may_be_empty(part):
                    return


def _may_be_empty(pattern: RowPattern) -> bool:
    match pattern:
        case RowSequence(parts):
            return all(map(_may_be_empty, parts))
        case RowAlternation(parts):
            return any(map(_may_be_empty, parts))
        case RowRepeat(part, least):
            return least == 0 or _may_be_empty(part)
    return isinstance(pattern, RowEmpty)


def canonical_conjunctions(pattern: RowPattern) -> RowPattern:
    """The pattern with the symbols of each conjunction in one order, each once.

    >>> from neelc.ir.row_patterns import RowVariable
    >>> a, b = RowVariable("A"), RowVariable("B")
    >>> print(canonical_conjunctions(RowConjunction((RowNegation(a), b, b))))
    (B, !A)
    >>> print(canonical_conjunctions(RowConjunction((a, a))))
    A
    """

    def change(node: Node) -> Node:
        if not isinstance(node, RowConjunction):
            return map_children(node, change)
        parts = sorted(dict.fromkeys(node.parts), key=lambda one: (isinstance(one, RowNegation), str(one)))
        # A negated symbol by itself could be one that reads no event.
        is_one = len(parts) == 1 and not isinstance(parts[0], RowNegation)
        return parts[0] if is_one else replace(node, parts=tuple(parts))

    changed = change(pattern)
    assert isinstance(changed, RowPattern)
    return changed


_NAVIGATION = ("next", "first", "last", "classifier", "match_number", "start", "end", "temp")

Measures = Mapping[str, e.Expr]
"""Measures by their names: JEPC's global variables."""


PatternClause = TypeVar("PatternClause", r.MatchSequential, r.MatchTemporal)

MOST_BACK = 100
"""How far PREV can go back: so many events of every partition are kept."""


def with_previous(clause: PatternClause, source: ColumnSource) -> PatternClause:
    """The clause with `PREV(i).attr` (JEPC thesis, 15.2.1) as MATCH_RECOGNIZE writes it: PREV(attr, i)."""
    is_called = (
        bool(source.name)
        and find(written(source.name), [written(one.name) for one in source.columns or ()]) is None
    )

    def change(node: Node) -> Node:
        match node:
            case e.MemberAccess(e.Call(name, (e.Literal() as distance,)), attribute) if _is_prev(name):
                # A measure may have the same name, but events before have columns only.
                parts = (written(source.name), attribute) if is_called else (attribute,)
                return e.Call(name, (e.Name(parts, span=node.span), distance), span=node.span)
        return map_children(node, change)

    definitions = tuple(change(one) for one in clause.definitions)
    return replace(clause, definitions=definitions)  # type: ignore[arg-type]


def _is_prev(name: str) -> bool:
    return name.lower() == "prev"


def bind_sequential(
    clause: r.MatchSequential, source: ColumnSource, clock: Clock | None, findings: Findings
) -> Sequential | None:
    """The clause over events of `source`, whose times follow `clock`; None, and reports, if it is wrong.

    The symbols must have been checked: `row_patterns.py` does. PREV is written as `with_previous` does.
    """
    before = len(findings.diagnostics)
    _check_pattern(clause.pattern, findings)
    _check_functions(clause, findings)
    check_measure_names(clause.measures, findings)
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
    partition = tuple(partition_column(one, columns, findings) for one in clause.partition_by)
    within = None if clause.within is None else bind_window(clause.within, clock, findings)
    following = _following(clause.following or Following(), clock, findings)
    pattern = without_open_ends(canonical_conjunctions(canonical_names(clause.pattern)))
    if following.eventually:
        _check_negations(clause.pattern, pattern, findings)
    if len(findings.diagnostics) > before:
        return None
    return Sequential(
        source.columns or (), pattern, definitions, partition, measures, within, following, clause.skip,
        span=clause.span,
    )  # fmt: skip


def _following(following: Following, clock: Clock | None, findings: Findings) -> Following:
    if following.within is None:
        return following
    within = bind_window(following.within, clock, findings)
    if within is not None and within.unit == "EVENT":
        message = "FOLLOWED BY WITHIN takes a time"
        findings.report("NEEL3031", message, following.span, "for example FOLLOWED BY WITHIN 5 SECONDS")
    return replace(following, within=within)


def _check_negations(written_pattern: RowPattern, pattern: RowPattern, findings: Findings) -> None:
    """Where symbols follow eventually, a negated symbol is about what stands between two others."""
    hint = "USING DIRECTLY FOLLOWED BY, it is an event that does not emit the symbol"
    for node in walk(written_pattern):
        if isinstance(node, RowRepeat) and isinstance(node.part, RowNegation):
            message = f"`{node.part}` reads no event where symbols follow eventually: it cannot be repeated"
            findings.report("NEEL3031", message, node.span, hint)
    texts = {node.span: str(node) for node in walk(written_pattern) if isinstance(node, RowNegation)}
    for node in negations_at_ends(pattern):
        message = f"`{texts.get(node.span, str(node))}` must be between two symbols: nothing bounds it here"
        findings.report("NEEL3031", message, node.span, hint)


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
    conditions = [inner for one in clause.definitions for inner in walk(one.condition)]
    measures = [inner for one in clause.measures for inner in walk(one.expression)]
    for node in (*conditions, *measures):
        is_moving = isinstance(node, e.Call) and (node.name.lower() in _NAVIGATION or is_aggregate(node))
        is_back = isinstance(node, e.Call) and _is_prev(node.name) and node in measures
        if is_moving or is_back or isinstance(node, e.RunningFinal):
            name = node.name if isinstance(node, e.Call) else str(node)
            message = (
                f"`{name}` moves over the rows of a match, which MATCH_RECOGNIZE_SEQUENTIAL does not support"
            )
            hint = "name an event by its symbol, or a variable of MEASURES"
            findings.report("NEEL3206", message, findings.at(node, clause), hint)


def check_measure_names(measures: tuple[r.Output, ...], findings: Findings) -> None:
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
        if isinstance(node, e.Call) and _is_prev(node.name):
            return node  # events before have columns, and no variables
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
    found = typed_condition(names.bound(condition), f"`{definition.name}`", findings.report)
    return without_other_rows(found, own, findings)


def without_other_rows(condition: e.Expr, own: str, findings: Findings) -> e.Expr:
    """The condition in which PREV goes back from the event that is judged, and from no other."""

    def change(node: Node) -> Node:
        if not isinstance(node, e.AtRow) or not node.shift:
            return map_children(node, change)
        if node.variables not in ((), (own,)):
            message = "PREV goes back from the event that is being checked"
            findings.report("NEEL3206", message, node.span, "for example PREV(1).x")
        elif -node.shift > MOST_BACK:
            message = f"PREV goes back {MOST_BACK} events at most"
            findings.report("NEEL3206", message, node.span)
        return replace(node, variables=())

    changed = change(condition)
    assert isinstance(changed, e.Expr)
    return changed


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


def partition_column(item: e.Expr, columns: InputColumns, findings: Findings) -> str:
    if isinstance(item, e.Name):
        column = columns.column(item.parts, item, ())
        if isinstance(column, e.Attribute):
            return bare(column.name)
        if column is None:
            return ""
    findings.report("NEEL3208", "PARTITION BY takes columns", item.span, "compute it in a subquery first")
    return ""
