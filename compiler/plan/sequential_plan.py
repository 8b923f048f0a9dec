"""From a bound MATCH_RECOGNIZE_SEQUENTIAL to what Spark computes of each event, and the program that finds
the matches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from neelc.ir import expr as e
from neelc.ir.conjuncts import conjuncts
from neelc.ir.names import written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.row_values import ROW
from neelc.ir.rows import RowVariable
from neelc.ir.sequential import Sequential
from neelc.ir.types import DOUBLE, FLOAT
from neelc.plan.event_columns import RESERVED, EventColumn, EventColumns
from neelc.plan.event_roles import renamed
from neelc.plan.kernel_values import KernelValues, groups
from neelc.plan.list_folds import NotInKernel
from neelc.plan.sequential_machine import automaton_of, longest
from neelc.plan.unsupported import Unsupported
from neelc.plan.widths import width_of
from neelc.runtime.sequential import program as p

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


@dataclass
class _Planner:
    query: Sequential
    unit: str
    outputs: dict[e.AtRow, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expressions = (one.condition for one in self.query.definitions)
        named = [node for one in (*expressions, *self.query.measures) for node in walk(one)]
        asked = (symbol for node in named if isinstance(node, e.AtRow) for symbol in node.variables)
        found = (node.name for node in walk(self.query.pattern) if isinstance(node, RowVariable))
        self.emitted = tuple(dict.fromkeys(found))
        # A symbol at an end may have been dropped: its values are NULL.
        self.names = tuple(dict.fromkeys((*self.emitted, *asked)))
        if len(self.names) > MOST_SYMBOLS:
            raise Unsupported(f"a pattern with more than {MOST_SYMBOLS} symbols", self.query.pattern.span)
        lasts = [f"{p.LAST}{number}" for number in range(len(self.names))]
        variables: dict[str, tuple[str, ...]] = dict.fromkeys((ROW, p.CURRENT, p.PREVIOUS, *lasts), ())
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
        """What events are partitioned by: of a FLOAT its DOUBLE, in which zero and NaN have one form."""
        column = next(column for column in self.query.columns if column.name == name)
        found = e.Attribute(e.Variable(ROW), written(name), column.type)
        return e.Cast(found, DOUBLE) if column.type in (FLOAT, DOUBLE) else found

    def _definitions(self) -> tuple[tuple[tuple[e.Expr, ...], ...], tuple[p.Condition, ...]]:
        """For each symbol what can be judged of an event alone, and what depends on those before it."""
        bits: dict[str, list[e.Expr]] = {name: [] for name in self.names}
        conditions: list[p.Condition] = []
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

    def _condition(self, symbol: str, conjunct: e.Expr) -> p.Condition:
        def change(node: Node) -> Node:
            if isinstance(node, e.AtRow):
                return renamed(node.argument, ROW, self._event(node, symbol))
            return map_children(node, change)

        changed = change(conjunct)
        assert isinstance(changed, e.Expr)
        try:
            return p.Condition(self.names.index(symbol), self.values.value(changed))
        except NotInKernel as found:
            raise Unsupported(f"`{found}` over several events, in DEFINE", self.query.span) from None

    def _event(self, node: e.AtRow, symbol: str) -> str:
        """The event that a value in the condition of a symbol is of: see `bind/sequential.py`."""
        is_own = not node.variables or symbol in node.variables
        if is_own and node.place == 0:
            return p.CURRENT
        return f"{p.LAST}{self.names.index(node.variables[0])}" if node.variables else p.PREVIOUS

    def _taken(self) -> list[p.Taken]:
        found: dict[tuple[int | None, str], p.Taken] = {}
        for node in (node for measure in self.query.measures for node in walk(measure.expression)):
            if not isinstance(node, e.AtRow):
                continue
            symbol = self.names.index(node.variables[0]) if node.variables else None
            column = self.columns.column(without_spans(node.argument), ROW).name
            output = found.setdefault((symbol, column), p.Taken(f"out_{len(found) + 1}", symbol, column))
            self.outputs[without_spans(node)] = output.name  # type: ignore[index]
        return list(found.values())

    def _window(self) -> tuple[int | None, int | None]:
        if self.query.within is None:
            return None, None
        width, counts = width_of(self.query.within, self.unit)
        return (None, width) if counts else (width, None)


def _of_event(conjunct: e.Expr) -> e.Expr:
    """A condition that speaks of one event: with ROW in place of its values at a row."""

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
