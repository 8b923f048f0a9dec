"""TPStream's MATCH_RECOGNIZE_TEMPORAL: from the clause as written to one with all names resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

from neelc.algebra.bind.sequential import (
    check_measure_names,
    partition_column,
    with_previous,
    without_other_rows,
)
from neelc.catalog.streams import ColumnSource
from neelc.findings import Findings, did_you_mean
from neelc.ir import allen
from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.algebra import instant
from neelc.ir.allen import Word
from neelc.ir.bound_rows import SymbolAlternative, SymbolDefinition, SymbolRelation, Temporal
from neelc.ir.expressions import RowValue
from neelc.ir.names import bare, find_variable, same, variable, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.patterns import Window
from neelc.ir.program import Clock, OutputColumn
from neelc.ir.types import LENGTHS
from neelc.pattern.bind.windows import bind_window
from neelc.rows.bind.expressions import InputColumns, RowNames
from neelc.rows.bind.recognize import check_definitions, pattern_variables
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.functions import is_row_aggregate
from neelc.scalar.typing import typed, typed_condition
from neelc.syntax.print_patterns import show_temporal_patterns

# What TEMP says, and how values of symbols are written.


@dataclass(frozen=True)
class TemporalClause:
    """A clause whose conditions stand without TEMP, and whose values are those of MATCH_RECOGNIZE: FIRST(A.x)
    for START(A).x. `lasting` are the names of the symbols that had TEMP, `streams` those that it named."""

    clause: r.MatchTemporal
    lasting: frozenset[str]
    streams: Mapping[str, str]


def plain_clause(clause: r.MatchTemporal, findings: Findings) -> TemporalClause | None:
    """None, and reports, if the clause uses functions that it cannot use."""
    with _apart(findings) as own:
        found = _plain(clause, own)
    return None if own.diagnostics else found


@contextmanager
def _apart(findings: Findings) -> Iterator[Findings]:
    """Findings of one part. A part that is bound twice reports the same again, and has failed as well."""
    own = Findings(findings.source, findings.aggregates)
    yield own
    for one in own.diagnostics:
        findings.report(one.code, one.message, one.span, one.hint)


def _plain(clause: r.MatchTemporal, findings: Findings) -> TemporalClause:
    check_definitions(clause, pattern_variables(clause), findings)
    lasting: set[str] = set()
    streams: dict[str, str] = {}
    definitions = []
    for one in clause.definitions:
        condition = one.condition
        match condition:
            case e.Call(name, (e.Name((stream,)), inner)) if name.lower() == "temp":
                streams[one.name] = stream
                condition = inner
            case e.Call(name, (inner,)) if name.lower() == "temp":
                condition = inner
        if condition is not one.condition:
            lasting.add(variable(one.name))
        definitions.append(replace(one, condition=condition))
    stripped = replace(clause, definitions=tuple(definitions))
    _Functions(stripped, frozenset(lasting), findings).check()
    measures = tuple(replace(one, expression=_moved(one.expression)) for one in clause.measures)
    found = tuple(replace(one, condition=_moved(one.condition)) for one in definitions)
    return TemporalClause(
        replace(stripped, definitions=found, measures=measures), frozenset(lasting), streams
    )


_MOVES = {"start": "first", "end": "last"}


def _moved(expression: e.Expr) -> e.Expr:
    """`START(A).x` as MATCH_RECOGNIZE writes it: `FIRST(A.x)`."""

    def change(node: Node) -> Node:
        match node:
            case e.MemberAccess(e.Call(name, (e.Name((symbol,)) as named,)), attribute) if _is_end(name):
                column = e.Name((symbol, attribute), span=named.span)
                return e.Call(_MOVES[name.lower()], (column,), span=node.span)
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, e.Expr)
    return changed


def _is_end(name: str) -> bool:
    return name.lower() in _MOVES


_NAVIGATION = ("prev", "next", "first", "last", "classifier", "match_number")


@dataclass(frozen=True)
class _Functions:
    """Checks which values of symbols a clause names, before it is rewritten."""

    clause: r.MatchTemporal
    lasting: frozenset[str]
    findings: Findings

    def check(self) -> None:
        for one in self.clause.definitions:
            self._condition(one.condition, variable(one.name))
        for measure in self.clause.measures:
            if isinstance(measure.expression, e.Star) or measure.alias is None:
                message, hint = "a measure needs a name", "for example START(A).x AS x"
                self.findings.report("NEEL3204", message, measure.span, hint)
            self._values(measure.expression, None)

    def _condition(self, condition: e.Expr, own: str) -> None:
        for node in walk(condition):
            if isinstance(node, e.Call | e.FilteredCall) and is_row_aggregate(node):
                message = f"`{node}` concerns a whole interval, but a condition concerns one event"
                hint = "aggregates of symbols are allowed only in MEASURES"
                self.findings.report("NEEL3206", message, self.findings.at(node, condition), hint)
        self._values(condition, own)

    def _values(self, expression: e.Expr, own: str | None) -> None:
        match expression:
            case e.MemberAccess(e.Call(name, (e.Name((symbol,)),))) if _is_end(name):
                self._end(symbol, expression, own)
                return
            case e.MemberAccess(e.Call(name, (e.Literal(),))) if name.lower() == "prev" and own is not None:
                return
            case e.Call(name) if name.lower() in (*_NAVIGATION, *_MOVES, "temp"):
                self._misplaced(expression, name)
                return
            case e.Call() | e.FilteredCall() if own is None and is_row_aggregate(expression):
                return  # over all events of a run
            case e.RunningFinal():
                self._misplaced(expression, str(expression))
                return
            case e.Name((symbol, _, *_)) if self._lasts(symbol) and variable(symbol) != own:
                message = f"`{symbol}` lasts: `{expression}` could be of any of its events"
                rest = ".".join(expression.parts[1:])
                hint = f"START({symbol}).{rest} or END({symbol}).{rest}"
                self.findings.report("NEEL3215", message, expression.span, hint)
        for child in _children(expression):
            self._values(child, own)

    def _lasts(self, name: str) -> bool:
        return variable(name) in self.lasting

    def _end(self, symbol: str, node: e.Expr, own: str | None) -> None:
        if own is not None and variable(symbol) == own:
            message = f"the condition of `{symbol}` decides where `{symbol}` starts and ends"
            hint = f"name the event to check: {node.name}" if isinstance(node, e.MemberAccess) else None
            self.findings.report("NEEL3210", message, node.span, hint)

    def _misplaced(self, node: e.Expr, name: str) -> None:
        message = f"`{name}` is not allowed here, in MATCH_RECOGNIZE_TEMPORAL"
        hint = "values of a symbol are START(A).x and END(A).x; TEMP encloses a whole condition"
        if name.lower() == "prev":
            hint = "for example PREV(1).x, in a condition"
        self.findings.report("NEEL3206", message, self.findings.at(node), hint)


def _children(node: Node) -> Iterator[e.Expr]:
    found: list[e.Expr] = []

    def take(child: Node) -> Node:
        if isinstance(child, e.Expr):
            found.append(child)
            return child
        return map_children(child, take)

    map_children(node, take)
    return iter(found)


# Names and types.


@dataclass(frozen=True)
class StreamNumbers:
    """The column with the number of the stream that an event is of, and those of the symbols' streams."""

    column: str
    of: Mapping[str, int]


def bind_temporal(
    plain: TemporalClause,
    source: ColumnSource,
    clock: Clock | None,
    findings: Findings,
    numbers: StreamNumbers | None = None,
) -> Temporal | None:
    """The clause over events of `source`, whose times follow `clock`; None, and reports, if it is wrong."""
    with _apart(findings) as own:
        return _bound(plain, source, clock, own, numbers)


def _bound(
    plain: TemporalClause,
    source: ColumnSource,
    clock: Clock | None,
    findings: Findings,
    numbers: StreamNumbers | None,
) -> Temporal | None:
    clause = with_previous(plain.clause, source)
    plain = replace(plain, clause=clause)
    check_measure_names(clause.measures, findings)
    _check_streams(plain, source, findings, numbers)
    columns = InputColumns(source, findings)
    known = {name: (variable(name),) for name in pattern_variables(clause)}
    names = RowNames(columns, known, findings, may_be_final=False)
    measures = tuple(_measure(one, names, findings) for one in clause.measures if one.alias is not None)
    if findings.diagnostics:
        return None
    variables = {measure.name: measure.expression for measure in measures}
    symbols = _Symbols(plain, names, variables, clock, findings, numbers).bound(known)
    partition = tuple(partition_column(one, columns, findings) for one in clause.partition_by)
    within = None if clause.within is None else _within(clause.within, clock, findings)
    alternatives = tuple(
        found for one in clause.patterns if (found := _alternative(one, findings)) is not None
    )
    if findings.diagnostics:
        return None
    bound = Temporal(
        source.columns or (),
        alternatives,
        symbols,
        partition,
        measures,
        within,
        None if numbers is None else numbers.column,
        show_temporal_patterns(clause.patterns),
        span=clause.span,
    )
    _check_dependencies(bound, clause, findings)
    _check_occurring(bound, clause, findings)
    if not findings.diagnostics:
        for one, pattern in zip(alternatives, clause.patterns, strict=True):
            _check_satisfiable(one, symbols, pattern, findings)
    return None if findings.diagnostics else bound


def _check_streams(
    plain: TemporalClause, source: ColumnSource, findings: Findings, numbers: StreamNumbers | None
) -> None:
    """TEMP(s, ...) names a stream of the clause."""
    if numbers is not None:
        return  # they have been found
    for one in plain.clause.definitions:
        stream = plain.streams.get(one.name)
        if stream is not None and not same(stream, written(source.name)):
            hint = did_you_mean(stream, [source.name], "streams here")
            message = f"unknown stream `{bare(stream)}`"
            findings.report("NEEL2004", message, findings.at(stream, one), hint)


def _measure(item: r.Output, names: RowNames, findings: Findings) -> OutputColumn:
    assert item.alias is not None
    value, kind = typed(names.bound(item.expression), findings.report)
    for node in walk(value):
        if isinstance(node, e.AtRow | e.OverRows) and not node.variables:
            place = item.expression.span
            text = findings.source.text[place.start : place.end] if place else str(item.expression)
            message = f"`{text}` does not name a symbol"
            hint = "for example START(A).x, END(A).x, max(A.x)"
            findings.report("NEEL3215", message, findings.at(item.expression, item), hint)
            break
    return OutputColumn(bare(item.alias), value, kind, span=item.span)


def _within(window: Window, clock: Clock | None, findings: Findings) -> Window | None:
    if window.unit == "EVENT":
        message = "WITHIN takes a time in MATCH_RECOGNIZE_TEMPORAL: its symbols are intervals of time"
        findings.report("NEEL3031", message, findings.at(window), "for example WITHIN 10 MINUTES")
        return None
    return bind_window(window, clock, findings)


@dataclass(frozen=True)
class _Symbols:
    """Binds the definitions of symbols."""

    plain: TemporalClause
    names: RowNames
    variables: Mapping[str, e.Expr]
    clock: Clock | None
    findings: Findings
    numbers: StreamNumbers | None

    def bound(self, known: Iterable[str]) -> tuple[SymbolDefinition, ...]:
        """All symbols of the pattern; without a definition, every event emits one."""
        defined = {variable(one.name): one for one in self.plain.clause.definitions}
        found = []
        for name in known:
            definition = defined.get(variable(name))
            if definition is None:
                self._check_undefined(name)
                found.append(SymbolDefinition(variable(name), None, lasts=False))
            else:
                found.append(self._symbol(definition))
        return tuple(found)

    def _check_undefined(self, name: str) -> None:
        if self.numbers is not None:
            message = f"`{name}` has no definition: it could be about the events of any stream"
            hint = f"qualify it: {name} AS stream.x IS NOT NULL"
            self.findings.report("NEEL3201", message, self.findings.at(name, self.plain.clause), hint)

    def _symbol(self, definition: r.Definition) -> SymbolDefinition:
        name = variable(definition.name)
        lasts = name in self.plain.lasting
        least, most = self._duration(definition, lasts)
        stream = None if self.numbers is None else self.numbers.of.get(definition.name)
        return SymbolDefinition(
            name, self._condition(definition, name), lasts, least, most, stream, span=definition.span
        )

    def _condition(self, definition: r.Definition, own: str) -> e.Expr:
        def with_variables(node: Node) -> Node:
            if isinstance(node, e.Call) and node.name.lower() == "prev":
                return node  # events before have columns, and no variables
            if isinstance(node, e.Name) and not self._is_attribute(node):
                known = next((name for name in self.variables if same(node.parts[0], written(name))), None)
                if known is not None:
                    return self._variable(node, known)
            return map_children(node, with_variables)

        condition = with_variables(definition.condition)
        assert isinstance(condition, e.Expr)
        report = self.findings.report
        found = typed_condition(self.names.bound(condition), f"`{definition.name}`", report)
        return _of_the_event(without_other_rows(found, own, self.findings), own)

    def _variable(self, node: e.Name, name: str) -> e.Expr:
        value = self.variables[name]
        if any(isinstance(one, RowValue) and not isinstance(one, e.AtRow) for one in walk(value)):
            message = f"`{name}` concerns a whole interval, but a condition concerns one event"
            hint = "aggregates of symbols are allowed only in MEASURES"
            self.findings.report("NEEL3206", message, node.span, hint)
        for part in node.parts[1:]:
            value = self.names.columns.field(value, part, node)
        return value

    def _is_attribute(self, node: e.Name) -> bool:
        first = node.parts[0]
        return self.names.columns.named(first) is not None or (
            len(node.parts) > 1 and find_variable(first, self.names.variables) is not None
        )

    def _duration(self, definition: r.Definition, lasts: bool) -> tuple[Window | None, Window | None]:
        duration = definition.duration
        if duration is None:
            return None, None
        if not lasts:
            message = f"`{definition.name}` is defined without TEMP: its events do not last"
            hint = f"{definition.name} AS TEMP(...)"
            self.findings.report("NEEL3217", message, self.findings.at(duration), hint)
        least, most = (self._length(one) for one in (duration.least, duration.most))
        if least is not None and most is not None and length(least) > length(most):
            message = f"nothing lasts {least} at least and {most} at most"
            self.findings.report("NEEL3217", message, self.findings.at(duration))
        return least, most

    def _length(self, window: Window | None) -> Window | None:
        """A time that is a whole number of instants."""
        if window is None:
            return None
        if window.unit == "EVENT":
            message, hint = "DURATION takes a time", "for example DURATION AT LEAST 5 SECONDS"
            self.findings.report("NEEL3031", message, self.findings.at(window), hint)
            return None
        bound = bind_window(window, self.clock, self.findings)
        if bound is None or self.clock is None:
            return None
        smallest = instant(self.clock)
        if length(bound) % smallest:
            unit = next(name for name, size in LENGTHS.items() if size == smallest)
            message = f"{bound} is not a whole number of {unit}S, the instants of this stream"
            self.findings.report("NEEL3302", message, self.findings.at(window))
        return bound


def _of_the_event(condition: e.Expr, own: str) -> e.Expr:
    """`A.x` in the condition of A is of the event that is judged."""

    def change(node: Node) -> Node:
        if isinstance(node, e.AtRow) and node.variables == (own,):
            return replace(node, variables=())
        return map_children(node, change)

    changed = change(condition)
    assert isinstance(changed, e.Expr)
    return changed


# Alternatives and their relations.


def _alternative(pattern: r.TemporalPattern, findings: Findings) -> SymbolAlternative | None:
    """None, and a report, if it is wrong."""
    before = len(findings.diagnostics)
    absent, alone, relations = [], [], []
    pairs: list[frozenset[str]] = []
    for part in pattern.parts:
        match part:
            case r.AbsentSymbol(symbol):
                absent.append(variable(symbol))
            case r.PresentSymbol(symbol):
                alone.append(variable(symbol))
            case r.TemporalRelations():
                relation = _relation(part)
                relations.append(relation)
                pair = frozenset((relation.left, relation.right))
                if pair in pairs:
                    message = f"`{relation.left}` and `{relation.right}` have two relations"
                    hint = f"join what may hold into one list: ({relation_text(relation)}; ...)"
                    findings.report("NEEL3213", message, findings.at(part, pattern), hint)
                pairs.append(pair)
                if pair <= {variable(one.symbol) for one in pattern.parts if isinstance(one, r.AbsentSymbol)}:
                    message = f"neither `{relation.left}` nor `{relation.right}` occurs"
                    hint = "a symbol that does not occur can be related to those that do"
                    findings.report("NEEL3214", message, findings.at(part, pattern), hint)
    mentioned = dict.fromkeys([*alone, *(name for one in relations for name in (one.left, one.right))])
    symbols = tuple(name for name in mentioned if name not in absent)
    for name in dict.fromkeys(absent):
        if name in alone:
            findings.report("NEEL3212", f"`{name}` cannot occur and not occur", findings.at(pattern))
    if not symbols and len(findings.diagnostics) == before:
        message = f"`{pattern}` has no symbol that occurs"
        findings.report("NEEL3001", message, findings.at(pattern), "add one without a `!`")
    if len(findings.diagnostics) > before:
        return None
    return SymbolAlternative(symbols, tuple(dict.fromkeys(absent)), tuple(relations), span=pattern.span)


def _relation(part: r.TemporalRelations) -> SymbolRelation:
    """The words of a list, told of the two symbols that the first one names first and second."""
    first = part.choices[0]
    if isinstance(first, r.NamedRelation):
        left, right = variable(first.left), variable(first.right)
    else:
        left, right = dict.fromkeys(variable(name) for step in first.steps for name in step.symbols)
    words = (word for choice in part.choices for word in _words(choice, left))
    return SymbolRelation(left, right, tuple(dict.fromkeys(words)), span=part.span)


def _words(choice: r.TemporalRelation | r.NamedRelation, left: str) -> Iterator[Word]:
    if isinstance(choice, r.NamedRelation):
        is_turned = variable(choice.left) != left
        yield from (allen.mirrored(one) if is_turned else one for one in allen.ALLEN[choice.name])
    else:
        letters = [["A" if variable(name) == left else "B" for name in one.symbols] for one in choice.steps]
        yield allen.canonical(letters)


def word_text(word: Word, left: str, right: str) -> str:
    """A word as the language spells it.

    >>> word_text(("A", "AB", "B"), "A", "B"), word_text(("A", "AB", "B"), "UP", "DOWN")
    ('AA.BB', 'UP MEETS DOWN')
    """
    if len(left) == len(right) == 1:
        names = str.maketrans({"A": left, "B": right})
        return allen.TEXTS[word].translate(names)
    return f"{left} {allen.name_of(word)} {right}"


def relation_text(relation: SymbolRelation) -> str:
    texts = dict.fromkeys(word_text(one, relation.left, relation.right) for one in relation.words)
    return "; ".join(texts)


def _check_dependencies(bound: Temporal, clause: r.MatchTemporal, findings: Findings) -> None:
    symbols = {one.name: one for one in bound.symbols}
    circle = _circle({name: one.depends_on for name, one in symbols.items()})
    if circle:
        path = " -> ".join((*circle, circle[0]))
        message = f"the conditions of these symbols depend on each other: {path}"
        hint = "a condition can name the symbols that are found before"
        findings.report("NEEL3210", message, findings.at(symbols[circle[0]], clause), hint)
    for alternative in bound.alternatives:
        for name in (*alternative.symbols, *alternative.absent):
            for other in symbols[name].depends_on:
                if other in alternative.symbols or other == name:
                    continue
                where = "does not occur there" if other in alternative.absent else "is not in it"
                message = f"`{name}` depends on `{other}`, which {where}"
                hint = f"add `{other}` to this alternative"
                findings.report("NEEL3211", message, findings.at(alternative, clause), hint)


def _circle(edges: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Symbols of which each depends on the next and the last on the first; none if there are no such.

    >>> _circle({"A": ("B",), "B": ("C",), "C": ("B",)}), _circle({"A": ("B",), "B": ()})
    (('B', 'C'), ())
    """

    def search(path: tuple[str, ...]) -> tuple[str, ...]:
        for other in edges.get(path[-1], ()):
            if other in path:
                return path[path.index(other) :]
            found = search((*path, other))
            if found:
                return found
        return ()

    return next(filter(None, (search((name,)) for name in edges)), ())


def _check_occurring(bound: Temporal, clause: r.MatchTemporal, findings: Findings) -> None:
    """A measure of what never occurs is always NULL."""
    occurring = {name for one in bound.alternatives for name in one.symbols}
    for measure, item in zip(bound.measures, clause.measures, strict=True):
        for node in walk(measure.expression):
            if isinstance(node, e.AtRow | e.OverRows):
                for name in node.variables:
                    if name not in occurring:
                        message = f"`{name}` does not occur in a match: `{measure.name}` would be NULL"
                        findings.report(
                            "NEEL3216", message, findings.at(item.expression, item), "leave it out"
                        )


# Patterns that nothing satisfies: "the component testing for constraint satisfaction can easily determine
# whether a temporal pattern is valid" (JEPC thesis, 15.3.3, footnote).

End = tuple[str, int]
"""An end point of a symbol's event: its start, 0, or its end, 1."""

MOST_ORDERS = 20_000
"""How many choices of words are tried; a pattern with more is taken as one that can be satisfied."""


def _check_satisfiable(
    alternative: SymbolAlternative,
    symbols: Sequence[SymbolDefinition],
    pattern: r.TemporalPattern,
    findings: Findings,
) -> None:
    kinds = {one.name: one for one in symbols}
    relations = [one for one in alternative.relations if {one.left, one.right} <= set(alternative.symbols)]
    possible = []
    for relation in relations:
        words = tuple(one for one in relation.words if _fits(one, relation, kinds))
        if not words:
            _report_kinds(relation, kinds, alternative, findings)
            return
        possible.append(replace(relation, words=words))
    search = _OrderSearch(alternative.symbols, kinds)
    if not search.is_satisfiable(possible):
        hint = f"it would need {search.cycle}" if search.cycle else None
        message = f"no order of starts and ends satisfies `{pattern}`"
        findings.report("NEEL3212", message, findings.at(pattern), hint)


def length(window: Window) -> int:
    """Nanoseconds."""
    assert isinstance(window.count, e.Literal) and isinstance(window.count.value, int)
    return window.count.value * LENGTHS[window.unit or ""]


def _is_point(symbol: SymbolDefinition) -> bool:
    return not symbol.lasts or (symbol.most is not None and not length(symbol.most))


def _is_interval(symbol: SymbolDefinition) -> bool:
    return symbol.least is not None and length(symbol.least) > 0


def _fits(word: Word, relation: SymbolRelation, kinds: Mapping[str, SymbolDefinition]) -> bool:
    """Whether what must be a point is one in the word, and what must last does."""
    for letter, name in (("A", relation.left), ("B", relation.right)):
        is_point = any(letter * 2 in step for step in word)
        if (_is_point(kinds[name]) and not is_point) or (_is_interval(kinds[name]) and is_point):
            return False
    return True


def _report_kinds(
    relation: SymbolRelation,
    kinds: Mapping[str, SymbolDefinition],
    alternative: SymbolAlternative,
    findings: Findings,
) -> None:
    text = relation_text(relation)
    points = [one for one in (relation.left, relation.right) if not kinds[one].lasts]
    message = f"`{text}` never holds: by their definitions, its symbols cannot be so"
    hint = "see DURATION"
    if points:
        names = " and ".join(f"`{one}`" for one in points)
        message = f"`{text}` never holds: {names}, defined without TEMP, {_are(points)}"
        hint = f"{points[0]} AS TEMP(...) lasts; of points, A.AB.B says that A is before B"
    findings.report("NEEL3212", message, findings.at(relation, alternative), hint)


def _are(points: Sequence[str]) -> str:
    return "is a point in time" if len(points) == 1 else "are points in time"


class _OrderSearch:
    """Looks for an order of the end points of some symbols. `cycle` tells why the last one tried is none."""

    def __init__(self, names: Sequence[str], kinds: Mapping[str, SymbolDefinition]) -> None:
        self.names, self.kinds = names, kinds
        self.tried, self.cycle = 0, ""

    def is_satisfiable(self, relations: Sequence[SymbolRelation]) -> bool:
        return self._search(relations, [])

    def _search(self, relations: Sequence[SymbolRelation], chosen: list[list[list[End]]]) -> bool:
        if not relations:
            return True
        first, *rest = sorted(relations, key=lambda one: len(one.words))
        for word in first.words:
            self.tried += 1
            if self.tried > MOST_ORDERS:
                return True
            steps = [*chosen, _instants(word, first)]
            if self._is_order(steps) and self._search(rest, steps):
                return True
        return False

    def _is_order(self, chosen: Sequence[Sequence[Sequence[End]]]) -> bool:
        """Whether instants that come one after the other, in several lists, can be in one order."""
        one_of = {(name, which): (name, which) for name in self.names for which in (0, 1)}

        def found(end: End) -> End:
            while one_of[end] != end:
                end = one_of[end]
            return end

        for steps in chosen:
            for step in steps:
                for other in step[1:]:
                    one_of[found(other)] = found(step[0])
        edges: dict[End, list[End]] = {}
        for steps in chosen:
            for before, after in pairwise(steps):
                edges.setdefault(found(before[0]), []).append(found(after[0]))
        path = _cycle(edges)
        if path:
            self.cycle = " < ".join(f"{'END' if which else 'START'}({name})" for name, which in path)
        return not path


def _instants(word: Word, relation: SymbolRelation) -> list[list[End]]:
    """The end points of each step."""
    names = {"A": relation.left, "B": relation.right}
    seen: set[str] = set()
    found: list[list[End]] = []
    for step in word:
        found.append([])
        for letter in step:
            found[-1].append((names[letter], int(letter in seen)))
            seen.add(letter)
    return found


def _cycle(edges: Mapping[End, Sequence[End]]) -> tuple[End, ...]:
    """Instants each of which comes before the next, the last one before the first; none if there are none."""
    done: set[End] = set()

    def search(path: tuple[End, ...]) -> tuple[End, ...]:
        for other in edges.get(path[-1], ()):
            if other in path:
                return (*path[path.index(other) :], other)
            if other not in done:
                found = search((*path, other))
                if found:
                    return found
        done.add(path[-1])
        return ()

    return next(filter(None, (search((end,)) for end in list(edges))), ())
