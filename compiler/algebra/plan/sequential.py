"""From a bound MATCH_RECOGNIZE_SEQUENTIAL to what Spark computes of each event, and the program that finds
the matches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import Sequential
from neelc.ir.expressions import ROW, conjuncts
from neelc.ir.names import written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.row_patterns import RowVariable
from neelc.ir.types import BOOLEAN, DOUBLE, FLOAT
from neelc.pattern.plan.blocks import UnboundedState, UnsupportedQuery, renamed
from neelc.pattern.plan.columns import RESERVED, EventColumn, EventColumns, width_of
from neelc.pattern.plan.kernel_values import KernelValues, NotInKernel, groups
from neelc.runtime.kernels.sequential import program as p
from neelc.runtime.kernels.sequential.program import SymbolAutomaton
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Apply, ColumnValue, EventName, SkipTarget, Value

# From a pattern over symbols to a deterministic automaton.
#
# Matches are distinguished by their symbols, so every sequence of symbols must take one path: with a
# nondeterministic automaton `(A | A) B` would match twice.
#
# Sets of places are enough for that. MATCH_RECOGNIZE has a different automaton (`rows/plan/plan.py`): it
# keeps the order in which paths are preferred, and distinguishes a part that took no row from one that did.

MOST_PLACES = 2_000
MOST_STATES = 2_000

END = -1
"""The place behind the pattern."""

Bars = frozenset[r.RowPattern]
"""Negated symbols that read no event: none of them is emitted since the event before."""
Places = frozenset[tuple[int, Bars]]
"""Places of a pattern, each with the bars on the way to it."""
PlannedReading = tuple[r.RowPattern, Bars]
"""What is read at an event, and what must not stand before it."""


def automaton_of(
    pattern: r.RowPattern, known: Sequence[PlannedReading] = (), eventually: bool = False
) -> tuple[SymbolAutomaton, tuple[PlannedReading, ...]]:
    """The automaton of a pattern, and what it reads, by numbers: what is `known` has the first of them.

    >>> a, b = r.RowVariable("A"), r.RowVariable("B")
    >>> automaton_of(r.RowSequence((a, r.RowRepeat(b, 0, None), a)))[0]
    SymbolAutomaton(states=3, edges=((0, 0, 1), (1, 0, 2), (1, 1, 1)), accepting=(2,))
    >>> found, read = automaton_of(r.RowSequence((a, r.RowNegation(b), a)), eventually=True)
    >>> found.edges, [(str(one), *map(str, bars)) for one, bars in read]
    (((0, 0, 1), (1, 1, 2)), [('A',), ('A', '!B')])
    """
    try:
        places = _Places(eventually)
        begin = places.follow(pattern, frozenset({(END, frozenset())}))
    except RecursionError:
        raise UnsupportedQuery("a row pattern that is nested too deeply", pattern.span) from None
    readings = _readings(pattern, begin, places, known)
    numbers = {one: number for number, one in enumerate(readings)}
    states = _subsets(begin, numbers, places, pattern)
    return _without_doubles(states), readings


def _readings(
    pattern: r.RowPattern, begin: Places, places: _Places, known: Sequence[PlannedReading]
) -> tuple[PlannedReading, ...]:
    """All that is read, in the order of the pattern."""
    order = {node: -number for number, node in enumerate(reversed(list(walk(pattern))))}
    expected = (one for several in (begin, *places.after) for one in several if one[0] != END)
    found = {(places.parts[place], bars) for place, bars in expected}
    in_order = sorted(found, key=lambda one: (order[one[0]], sorted(map(str, one[1]))))
    return tuple(dict.fromkeys((*known, *in_order)))


class _Places:
    """The places of a pattern: where an event is read, with the places that may come after each."""

    def __init__(self, eventually: bool) -> None:
        self.eventually = eventually
        self.parts: list[r.RowPattern] = []
        self.after: list[set[tuple[int, Bars]]] = []
        self.loops = 0

    def follow(self, pattern: r.RowPattern, after: Places) -> Places:
        """Adds the places of a pattern that `after` may follow; the places that it may begin with, and those
        of `after` if it may be empty."""
        match pattern:
            case r.RowNegation() if self.eventually:
                return _barred(after, frozenset({pattern}))
            case r.RowVariable() | r.RowConjunction() | r.RowNegation():
                if len(self.parts) == MOST_PLACES:
                    raise UnsupportedQuery(f"a pattern with more than {MOST_PLACES} places", pattern.span)
                self.parts.append(pattern)
                self.after.append(set(after))
                return frozenset({(len(self.parts) - 1, frozenset())})
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
            known, again = len(self.parts), END - self.loops
            begin = _resolved(self.follow(part, frozenset({*after, (again, frozenset())})), again)
            for place in range(known, len(self.parts)):
                self.after[place] = set(_resolved(frozenset(self.after[place]), again, begin))
            # The loop is the last of the times that are required, or none.
            after, least = (begin, least - 1) if least else (begin | after, 0)
        else:
            for _ in range(most - least):
                after = self.follow(part, after) | after
        for _ in range(least):
            after = self.follow(part, after)
        return after


def _barred(places: Places, bars: Bars) -> Places:
    return frozenset((place, known | bars) for place, known in places)


def _resolved(places: Places, again: int, begin: Places | None = None) -> Places:
    """Places with those where a loop begins instead of `again`; `begin` is given unless it is these."""
    marks = [bars for place, bars in places if place == again]
    found = frozenset(one for one in places if one[0] != again)
    while True:
        more = found.union(*(_barred(begin or found, bars) for bars in marks))
        if more == found:
            return found
        found = more


_Edges = dict[int, int]


def _subsets(
    begin: Places, numbers_of: Mapping[PlannedReading, int], places: _Places, pattern: r.RowPattern
) -> list[tuple[bool, _Edges]]:
    """The sets of places that may come next, as states: whether the pattern may end there, and the edges."""
    numbers: dict[tuple[Places, bool], int] = {(begin, True): 0}
    states: list[tuple[bool, _Edges]] = []
    for expected, is_first in _growing(numbers):
        moves: dict[int, set[tuple[int, Bars]]] = defaultdict(set)
        for place, bars in expected:
            if place != END:
                moves[numbers_of[places.parts[place], bars]] |= places.after[place]
        if len(numbers) > MOST_STATES:
            raise UnsupportedQuery(
                f"a pattern whose automaton has more than {MOST_STATES} states", pattern.span
            )
        edges = {s: numbers.setdefault((frozenset(to), False), len(numbers)) for s, to in moves.items()}
        accepts = any(place == END for place, _ in expected)
        states.append((accepts and not is_first, edges))
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

_SKIPS = {"PAST LAST EVENT": SkipTarget.END, "TO NEXT EVENT": SkipTarget.START}


@dataclass(frozen=True)
class SequentialPlan:
    """A clause, planned. `columns` are computed of each event. An event has the bit of a reading if it meets
    all of `bits`, which call it ROW; `outputs` has the name of each value of a match. `definitions` are the
    conditions that each symbol has on its event alone."""

    query: Sequential
    program: p.SequentialProgram
    columns: tuple[EventColumn, ...]
    bits: tuple[tuple[e.Expr, ...], ...]
    outputs: dict[e.AtRow, str]
    definitions: Mapping[str, tuple[e.Expr, ...]]


def sequential_plan(query: Sequential, unit: str) -> SequentialPlan:
    """The plan of a clause over events whose times are whole numbers of `unit`; `Unsupported` if there is
    none."""
    return _Planner(query, unit).plan()


def streamed_sequential(plan: SequentialPlan) -> p.SequentialProgram:
    """The program of a clause for streams without end, whose clock has the unit of the plan. Raises
    `UnboundedState` if an event could be needed for ever."""
    if plan.query.skip:
        what = "AFTER MATCH SKIP of MATCH_RECOGNIZE_SEQUENTIAL over a stream"
        refused = UnsupportedQuery(what, plan.query.skip.span)
        refused.hint = "PATTERN and MATCH_RECOGNIZE have it over streams"
        raise refused
    if plan.program.reach is None and plan.program.rows is None:
        pattern = plan.query.pattern
        why = f"`{pattern}` may take any number of events"
        if plan.program.eventually:
            why = "symbols may follow each other at any time"
        refusal = UnboundedState(
            f"this query would keep ever more events of the stream: {why}, and there is no WITHIN",
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
        values = [node for node in named if isinstance(node, e.AtRow)]
        read = (symbol for node in values for symbol in node.variables)
        emitted = (node.name for node in emitted_symbols(self.query.pattern))
        # A symbol at an end may have been dropped: its values are NULL.
        self.names = tuple(dict.fromkeys((*emitted, *read)))
        self.conditions = {one.variable: one.condition for one in self.query.definitions}
        lasts = [f"{p.LAST}{number}" for number in range(len(self.names))]
        backs = sorted({f"{p.BACK}{-node.shift}" for node in values if node.shift})
        before = (p.PREVIOUS, *lasts, *backs)
        variables: dict[EventName, tuple[str, ...]] = dict.fromkeys((ROW, p.CURRENT, *before), ())
        self.columns = EventColumns(variables, names={*RESERVED, p.TIME, p.BITS})
        self.values = KernelValues(self.columns, frozenset(before))

    def plan(self) -> SequentialPlan:
        query, following = self.query, self.query.following
        keys = tuple(self.columns.column(self._key(name), ROW).name for name in query.partition)
        known = [(r.RowVariable(name), frozenset[r.RowPattern]()) for name in self.names]
        automaton, planned = automaton_of(
            query.pattern, () if _has_more(query) else known, following.eventually
        )
        cleared = tuple(dict.fromkeys(bars for _, bars in planned if bars))
        alphabet = [one for one, _ in planned] + [_conjunction(bars) for bars in cleared]
        if max(len(alphabet), len(self.names)) > MOST_SYMBOLS:
            raise UnsupportedQuery(f"a pattern with more than {MOST_SYMBOLS} symbols", query.pattern.span)
        tests = [self._tests(one) for one in alphabet]
        readings = [
            p.SymbolReading(self._numbers(one), len(planned) + cleared.index(bars) if bars else None)
            for one, bars in planned
        ] + [p.SymbolReading(()) for _ in cleared]
        conditions = tuple(
            p.SymbolCondition(number, self._value(test))
            for number, (_, several) in enumerate(tests)
            for test in several
        )
        taken = tuple(self._taken())
        reach, rows, step = self._window(longest(automaton))
        program = p.SequentialProgram(
            automaton, self.names, keys, taken, conditions, groups(self.values.coded), reach, rows,
            str(query.pattern), (), tuple(readings) if _has_more(query) else (), following.eventually, step,
            _SKIPS[query.skip.kind] if query.skip else None,
        )  # fmt: skip
        definitions = {name: self._tests(r.RowVariable(name))[0] for name in self.names}
        bits = tuple(alone for alone, _ in tests)
        return SequentialPlan(query, program, tuple(self.columns.all()), bits, self.outputs, definitions)

    def _key(self, name: str) -> e.Expr:
        """What events are partitioned by: a FLOAT as DOUBLE, in which zero and NaN have one form."""
        column = next(column for column in self.query.columns if column.name == name)
        attribute = e.Attribute(e.Variable(ROW), written(name), column.type)
        return e.Cast(attribute, DOUBLE) if column.type in (FLOAT, DOUBLE) else attribute

    def _numbers(self, reading: r.RowPattern) -> tuple[int, ...]:
        return tuple(self.names.index(node.name) for node in emitted_symbols(reading))

    def _tests(self, reading: r.RowPattern) -> tuple[tuple[e.Expr, ...], tuple[e.Expr, ...]]:
        """The conditions of a reading that are about the event alone, which they call ROW, and those that
        depend on events before it."""
        alone, others = [], []
        for part in reading.parts if isinstance(reading, r.RowConjunction) else (reading,):
            for condition in self._conditions(part):
                values = {node.name for node in walk(condition) if isinstance(node, e.Variable)}
                if values <= {p.CURRENT}:
                    alone.append(renamed(condition, p.CURRENT, ROW))
                else:
                    others.append(condition)
        return tuple(alone), tuple(others)

    def _conditions(self, part: r.RowPattern) -> Iterator[e.Expr]:
        """What an event must meet to emit a symbol, or not to emit it."""
        match part:
            case r.RowVariable(symbol):
                for conjunct in conjuncts(self.conditions.get(symbol)):
                    yield self._of_events(conjunct, symbol)
            case r.RowNegation(r.RowVariable(symbol)):
                condition = self.conditions.get(symbol, e.Literal(True, BOOLEAN))
                yield e.IsTruth(self._of_events(condition, symbol), True, negated=True)

    def _of_events(self, condition: e.Expr, symbol: str) -> e.Expr:
        """A condition with the names that the kernel has for the events."""

        def change(node: Node) -> Node:
            if isinstance(node, e.AtRow):
                return renamed(node.argument, ROW, self._event(node, symbol))
            return map_children(node, change)

        changed = change(without_spans(condition))
        assert isinstance(changed, e.Expr)
        return changed

    def _value(self, condition: e.Expr) -> Value:
        try:
            return self.values.value(condition)
        except NotInKernel as missing:
            raise UnsupportedQuery(f"`{missing}` over several events, in DEFINE", self.query.span) from None

    def _event(self, node: e.AtRow, symbol: str) -> str:
        """The event that a value in the condition of a symbol is of: see `bind/sequential.py`."""
        if node.shift:
            return f"{p.BACK}{-node.shift}"
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

    def _window(self, most: int | None) -> tuple[int | None, int | None, int | None]:
        """The time and the instants that a match takes at most, and the time between its symbols; `most` are
        its events."""
        reach, rows, step = None, None, None
        if self.query.within is not None:
            width, counts = width_of(self.query.within, self.unit)
            reach, rows = (None, width) if counts else (width, None)
        following = self.query.following
        if following.within is not None:
            step, _ = width_of(following.within, self.unit)
            whole = None if most is None else step * max(0, most - 1)
            reach = whole if reach is None else reach if whole is None else min(reach, whole)
        if not following.eventually:
            rows = most if rows is None else rows if most is None else min(most, rows)
        return reach, rows, step


def emitted_symbols(pattern: r.RowPattern) -> Iterator[RowVariable]:
    """The symbols that events of a match emit.

    >>> a, b = r.RowVariable("A"), r.RowVariable("B")
    >>> print(*emitted_symbols(r.RowSequence((a, r.RowNegation(b), r.RowConjunction((b, a))))))
    A B A
    """
    match pattern:
        case RowVariable():
            yield pattern
        case r.RowSequence(parts) | r.RowAlternation(parts) | r.RowConjunction(parts):
            for part in parts:
                yield from emitted_symbols(part)
        case r.RowRepeat(part):
            yield from emitted_symbols(part)


def _has_more(query: Sequential) -> bool:
    """Whether a pattern reads more than symbols."""
    return any(isinstance(node, r.RowConjunction | r.RowNegation) for node in walk(query.pattern))


def _conjunction(bars: Bars) -> r.RowPattern:
    return r.RowConjunction(tuple(sorted(bars, key=str)))


def without_spans(expression: e.Expr) -> e.Expr:
    def change(node: Node) -> Node:
        return replace(map_children(node, change), span=None)

    changed = change(expression)
    assert isinstance(changed, e.Expr)
    return changed
