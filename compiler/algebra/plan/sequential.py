"""From a bound MATCH_RECOGNIZE_SEQUENTIAL to what Spark computes of each event, and the program that finds
the matches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import Sequential
from neelc.ir.expressions import ROW, conjuncts
from neelc.ir.names import written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.row_patterns import RowVariable
from neelc.ir.types import DOUBLE, FLOAT
from neelc.pattern.plan.blocks import UnboundedState, UnsupportedQuery, renamed
from neelc.pattern.plan.columns import RESERVED, EventColumn, EventColumns, width_of
from neelc.pattern.plan.kernel_values import KernelValues, NotInKernel, groups
from neelc.runtime.kernels.sequential import program as p
from neelc.runtime.kernels.sequential.program import SymbolAutomaton
from neelc.runtime.program import Apply, ColumnValue, EventName, Value

# From a pattern over symbols to a deterministic automaton.
#
# Matches are distinguished by their symbols, so every sequence of symbols must take one path: with a
# nondeterministic automaton `(A | A) B` would match twice.
#
# Sets of places are enough for that. MATCH_RECOGNIZE has a different automaton (`rows/plan/plan.py`): it
# keeps the order in which paths are preferred, and distinguishes a part that took no row from one that did.

MOST_PLACES = 2_000
MOST_STATES = 2_000

Places = frozenset[int]
END = -1
"""The place behind the pattern."""


def automaton_of(pattern: r.RowPattern, names: tuple[str, ...]) -> SymbolAutomaton:
    """The automaton of a pattern over symbols of these names.

    >>> a, b = r.RowVariable("A"), r.RowVariable("B")
    >>> automaton_of(r.RowSequence((a, r.RowRepeat(b, 0, None), a)), ("A", "B"))
    SymbolAutomaton(states=3, edges=((0, 0, 1), (1, 0, 2), (1, 1, 1)), accepting=(2,))
    """
    try:
        places = _Places()
        begin = places.follow(pattern, frozenset({END}))
    except RecursionError:
        raise UnsupportedQuery("a row pattern that is nested too deeply", pattern.span) from None
    symbols = [names.index(name) for name in places.names]
    states = _subsets(begin, symbols, places, pattern)
    return _without_doubles(states)


class _Places:
    """The places of a pattern: occurrences of symbols, with the places that may come after each."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.after: list[set[int]] = []
        self.loops = 0

    def follow(self, pattern: r.RowPattern, after: Places) -> Places:
        """Adds the places of a pattern that `after` may follow; the places that it may begin with, and those
        of `after` if it may be empty."""
        match pattern:
            case r.RowVariable(name):
                if len(self.names) == MOST_PLACES:
                    raise UnsupportedQuery(f"a pattern with more than {MOST_PLACES} places", pattern.span)
                self.names.append(name)
                self.after.append(set(after))
                return frozenset({len(self.names) - 1})
            case r.RowSequence(parts):
                for part in reversed(parts):
                    after = self.follow(part, after)
                return after
            case r.RowAlternation(parts):
                return frozenset(place for part in parts for place in self.follow(part, after))
            case r.RowRepeat(part, least, most):
                return self._repeated(part, least, most, after)
        return after

    def _repeated(self, part: r.RowPattern, least: int, most: int | None, after: Places) -> Places:
        if max(least, (most or least) - least) > MOST_PLACES:
            raise UnsupportedQuery(f"a pattern with more than {MOST_PLACES} places", part.span)
        if most is None:
            self.loops += 1
            known, again = len(self.names), END - self.loops
            begin = self.follow(part, frozenset({*after, again})) - {again}
            for place in range(known, len(self.names)):
                if again in self.after[place]:
                    self.after[place] = self.after[place] - {again} | begin
            # The loop is the last of the times that are required, or none.
            after, least = (begin, least - 1) if least else (begin | after, 0)
        else:
            for _ in range(most - least):
                after = self.follow(part, after) | after
        for _ in range(least):
            after = self.follow(part, after)
        return after


_Edges = dict[int, int]


def _subsets(
    begin: Places, symbols: list[int], places: _Places, pattern: r.RowPattern
) -> list[tuple[bool, _Edges]]:
    """The sets of places that may come next, as states: whether the pattern may end there, and the edges."""
    numbers: dict[tuple[Places, bool], int] = {(begin, True): 0}
    states: list[tuple[bool, _Edges]] = []
    for expected, is_first in _growing(numbers):
        moves: dict[int, set[int]] = defaultdict(set)
        for place in expected - {END}:
            moves[symbols[place]] |= places.after[place]
        if len(numbers) > MOST_STATES:
            raise UnsupportedQuery(
                f"a pattern whose automaton has more than {MOST_STATES} states", pattern.span
            )
        edges = {s: numbers.setdefault((frozenset(to), False), len(numbers)) for s, to in moves.items()}
        states.append((END in expected and not is_first, edges))
    return states


def _growing(numbers: dict[tuple[Places, bool], int]) -> Iterator[tuple[Places, bool]]:
    done = 0
    while done < len(numbers):
        for key in list(numbers)[done:]:
            done += 1
            yield key


def _without_doubles(states: list[tuple[bool, _Edges]]) -> SymbolAutomaton:
    """States that accept the same become one; the first stays alone."""
    groups = [0 if number == 0 else 1 + accepts for number, (accepts, _) in enumerate(states)]
    while True:
        seen: dict[object, int] = {}
        signatures = (
            (group, tuple(sorted((symbol, groups[to]) for symbol, to in edges.items())))
            for group, (_, edges) in zip(groups, states, strict=True)
        )
        finer = [seen.setdefault(signature, len(seen)) for signature in signatures]
        if len(seen) == len(set(groups)):
            break
        groups = finer
    return _numbered(groups, states)


def _numbered(groups: list[int], states: list[tuple[bool, _Edges]]) -> SymbolAutomaton:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    of = [numbers[group] for group in groups]
    edges = {(of[n], s, of[to]) for n, (_, moves) in enumerate(states) for s, to in moves.items()}
    accepting = {of[n] for n, (accepts, _) in enumerate(states) if accepts}
    return SymbolAutomaton(len(numbers), tuple(sorted(edges)), tuple(sorted(accepting)))


def longest(automaton: SymbolAutomaton) -> int | None:
    """The number of symbols of the longest sequence that is accepted; None if there is no longest.

    >>> longest(SymbolAutomaton(3, ((0, 0, 1), (1, 0, 2)), (2,)))
    2
    """
    reached, length = {0}, 0
    while reached:
        reached = set(_next(reached, automaton.edges))
        length += bool(reached)
        if length >= automaton.states:
            return None
    return length


def _next(states: set[int], edges: Iterable[tuple[int, int, int]]) -> Iterator[int]:
    return (to for source, _, to in edges if source in states)


MOST_SYMBOLS = 62


@dataclass(frozen=True)
class SequentialPlan:
    """A clause, planned. `columns` are computed of each event. An event has the bit of symbol s if it meets
    all of `bits[s]`, which call it ROW; `outputs` has the name of each value of a match."""

    query: Sequential
    program: p.SequentialProgram
    columns: tuple[EventColumn, ...]
    bits: tuple[tuple[e.Expr, ...], ...]
    outputs: dict[e.AtRow, str]


def sequential_plan(query: Sequential, unit: str) -> SequentialPlan:
    """The plan of a clause over events whose times are whole numbers of `unit`; `Unsupported` if there is
    none."""
    return _Planner(query, unit).plan()


def streamed_sequential(plan: SequentialPlan) -> p.SequentialProgram:
    """The program of a clause for streams without end, whose clock has the unit of the plan. Raises
    `UnboundedState` if an event could be needed for ever."""
    if plan.program.reach is None and plan.program.rows is None:
        pattern = plan.query.pattern
        refusal = UnboundedState(
            f"this query would keep ever more events of the stream: `{pattern}` may take any number of "
            "events, and there is no WITHIN",
            pattern.span,
        )
        refusal.hint = "add WITHIN, such as WITHIN 1 HOUR, or an upper bound, such as {1,100}"
        raise refusal
    return plan.program


def with_columns(plan: SequentialPlan, names: Mapping[str, str]) -> SequentialPlan:
    """The plan for events whose columns have other names."""

    def change(value: Value) -> Value:
        match value:
            case ColumnValue(variable, name):
                return ColumnValue(variable, names[name])
            case Apply(operands=operands):
                return replace(value, operands=tuple(map(change, operands)))
        return value

    program = plan.program
    return replace(
        plan,
        columns=tuple(replace(one, name=names[one.name]) for one in plan.columns),
        program=replace(
            program,
            keys=tuple(names[key] for key in program.keys),
            outputs=tuple(replace(one, column=names[one.column]) for one in program.outputs),
            conditions=tuple(replace(one, test=change(one.test)) for one in program.conditions),
            codings=tuple(tuple(names[name] for name in several) for several in program.codings),
        ),
    )


@dataclass
class _Planner:
    query: Sequential
    unit: str
    outputs: dict[e.AtRow, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expressions = (one.condition for one in self.query.definitions)
        named = [node for one in (*expressions, *self.query.measures) for node in walk(one)]
        read = (symbol for node in named if isinstance(node, e.AtRow) for symbol in node.variables)
        emitted = (node.name for node in walk(self.query.pattern) if isinstance(node, RowVariable))
        self.emitted = tuple(dict.fromkeys(emitted))
        # A symbol at an end may have been dropped: its values are NULL.
        self.names = tuple(dict.fromkeys((*self.emitted, *read)))
        if len(self.names) > MOST_SYMBOLS:
            raise UnsupportedQuery(
                f"a pattern with more than {MOST_SYMBOLS} symbols", self.query.pattern.span
            )
        lasts = [f"{p.LAST}{number}" for number in range(len(self.names))]
        variables: dict[EventName, tuple[str, ...]] = dict.fromkeys((ROW, p.CURRENT, p.PREVIOUS, *lasts), ())
        self.columns = EventColumns(variables, names={*RESERVED, p.TIME, p.BITS})
        self.values = KernelValues(self.columns, frozenset((p.PREVIOUS, *lasts)))

    def plan(self) -> SequentialPlan:
        query = self.query
        keys = tuple(self.columns.column(self._key(name), ROW).name for name in query.partition)
        bits, conditions = self._definitions()
        taken = tuple(self._taken())
        automaton = automaton_of(query.pattern, self.names)
        reach, rows = self._window()
        most = longest(automaton)
        program = p.SequentialProgram(
            automaton, self.names, keys, taken, conditions, groups(self.values.coded), reach,
            most if rows is None else rows if most is None else min(most, rows), str(query.pattern),
        )  # fmt: skip
        return SequentialPlan(query, program, tuple(self.columns.all()), bits, self.outputs)

    def _key(self, name: str) -> e.Expr:
        """What events are partitioned by: a FLOAT as DOUBLE, in which zero and NaN have one form."""
        column = next(column for column in self.query.columns if column.name == name)
        attribute = e.Attribute(e.Variable(ROW), written(name), column.type)
        return e.Cast(attribute, DOUBLE) if column.type in (FLOAT, DOUBLE) else attribute

    def _definitions(self) -> tuple[tuple[tuple[e.Expr, ...], ...], tuple[p.SymbolCondition, ...]]:
        """For each symbol the conditions on one event alone, and those that depend on events before it."""
        bits: dict[str, list[e.Expr]] = {name: [] for name in self.names}
        conditions: list[p.SymbolCondition] = []
        for definition in self.query.definitions:
            symbol = definition.variable
            if symbol not in self.emitted:
                continue
            for conjunct in map(without_spans, conjuncts(definition.condition)):
                values = (node for node in walk(conjunct) if isinstance(node, e.AtRow))
                if all(self._event(value, symbol) == p.CURRENT for value in values):
                    bits[symbol].append(_of_event(conjunct))
                else:
                    conditions.append(self._condition(symbol, conjunct))
        return tuple(map(tuple, bits.values())), tuple(conditions)

    def _condition(self, symbol: str, conjunct: e.Expr) -> p.SymbolCondition:
        def change(node: Node) -> Node:
            if isinstance(node, e.AtRow):
                return renamed(node.argument, ROW, self._event(node, symbol))
            return map_children(node, change)

        changed = change(conjunct)
        assert isinstance(changed, e.Expr)
        try:
            return p.SymbolCondition(self.names.index(symbol), self.values.value(changed))
        except NotInKernel as missing:
            raise UnsupportedQuery(f"`{missing}` over several events, in DEFINE", self.query.span) from None

    def _event(self, node: e.AtRow, symbol: str) -> str:
        """The event that a value in the condition of a symbol is of: see `bind/sequential.py`."""
        is_own = not node.variables or symbol in node.variables
        if is_own and node.place == 0:
            return p.CURRENT
        return f"{p.LAST}{self.names.index(node.variables[0])}" if node.variables else p.PREVIOUS

    def _taken(self) -> list[p.SymbolOutput]:
        outputs: dict[tuple[int | None, str], p.SymbolOutput] = {}
        for node in (node for measure in self.query.measures for node in walk(measure.expression)):
            if not isinstance(node, e.AtRow):
                continue
            symbol = self.names.index(node.variables[0]) if node.variables else None
            column = self.columns.column(without_spans(node.argument), ROW).name
            output = outputs.setdefault(
                (symbol, column), p.SymbolOutput(f"out_{len(outputs) + 1}", symbol, column)
            )
            self.outputs[without_spans(node)] = output.name  # type: ignore[index]
        return list(outputs.values())

    def _window(self) -> tuple[int | None, int | None]:
        if self.query.within is None:
            return None, None
        width, counts = width_of(self.query.within, self.unit)
        return (None, width) if counts else (width, None)


def _of_event(conjunct: e.Expr) -> e.Expr:
    """A condition on one event: with ROW in place of its values at a row."""

    def change(node: Node) -> Node:
        return node.argument if isinstance(node, e.AtRow) else map_children(node, change)

    changed = change(conjunct)
    assert isinstance(changed, e.Expr)
    return changed


def without_spans(expression: e.Expr) -> e.Expr:
    def change(node: Node) -> Node:
        return replace(map_children(node, change), span=None)

    changed = change(expression)
    assert isinstance(changed, e.Expr)
    return changed
