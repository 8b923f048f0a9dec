"""From a bound MATCH_RECOGNIZE_TEMPORAL to what Spark computes of each event, and the program that finds the
matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from neelc.algebra.plan.sequential import MOST_SYMBOLS, without_spans
from neelc.ir import expressions as e
from neelc.ir.allen import Word
from neelc.ir.bound_rows import SymbolAlternative, SymbolDefinition, SymbolRelation, Temporal
from neelc.ir.expressions import ROW, conjuncts
from neelc.ir.names import written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.patterns import Window
from neelc.ir.types import DOUBLE, FLOAT, INT
from neelc.pattern.plan.blocks import UnboundedState, UnsupportedQuery, renamed
from neelc.pattern.plan.columns import RESERVED, EventColumn, EventColumns, width_of
from neelc.pattern.plan.kernel_values import KernelValues, NotInKernel, groups
from neelc.runtime.kernels.temporal import program as p
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import EventName, Value

# The order in which symbols are joined (JEPC thesis, 15.6).


def join_order(alternative: SymbolAlternative, symbols: Mapping[str, SymbolDefinition]) -> tuple[str, ...]:
    """First the symbol with the most relations, then from neighbour to neighbour, each time the one with the
    most relations, of several the one whose relation has the fewest words; where there is none, back. A
    symbol comes behind those that it depends on.

    The constraint graph of Figure 15.3:

    >>> def relations(*pairs): return tuple(SymbolRelation(*one, (("A",),) * n) for one, n in pairs)
    >>> graph = relations(("AB", 1), ("AC", 3), ("AD", 1), ("CE", 1), ("DE", 2))
    >>> symbols = {name: SymbolDefinition(name, None, True) for name in "ABCDE"}
    >>> "".join(join_order(SymbolAlternative(tuple("ABCDE"), (), graph), symbols))
    'ADECB'
    """
    between = [one for one in alternative.relations if {one.left, one.right} <= set(alternative.symbols)]
    degrees = {name: sum(name in (one.left, one.right) for one in between) for name in alternative.symbols}
    placed: list[str] = []
    while len(placed) < len(alternative.symbols):
        ready = [
            one
            for one in alternative.symbols
            if one not in placed and set(symbols[one].depends_on) <= set(placed)
        ]
        placed.append(min(ready, key=lambda one: _preference(one, placed, between, degrees)))
    return tuple(placed)


def _preference(
    name: str, placed: Sequence[str], between: Sequence[SymbolRelation], degrees: Mapping[str, int]
) -> tuple[int, int, int]:
    """The least is preferred: how far back the neighbour is, how few relations, how many words."""
    for back, other in enumerate(reversed(placed)):
        for one in between:
            if {one.left, one.right} == {name, other}:
                return back, -degrees[name], len(one.words)
    return len(placed), -degrees[name], 0


@dataclass(frozen=True)
class TemporalPlan:
    """A clause, planned. `columns` are computed of each event. An event has a bit if it meets all of the
    conditions in `bits`, which call it ROW; `outputs` has the name of each value of a match, which for an
    aggregate is the list of its values."""

    query: Temporal
    program: p.TemporalProgram
    columns: tuple[EventColumn, ...]
    bits: tuple[tuple[e.Expr, ...], ...]
    outputs: Mapping[e.Expr, str]

    def column(self, name: str) -> EventColumn:
        return next(one for one in self.columns if one.name == name)


def temporal_plan(query: Temporal, unit: str) -> TemporalPlan:
    """The plan of a clause over events whose times are whole numbers of `unit`; `UnsupportedQuery` if there
    is none."""
    return _TemporalPlanner(query, unit).plan()


def streamed_temporal(plan: TemporalPlan) -> p.TemporalProgram:
    """The program of a clause for streams without end. Raises `UnboundedState` if an event could be needed
    for ever."""
    if plan.program.reach is None:
        why = "symbols may be as far from each other as they like, and there is no WITHIN"
        refusal = UnboundedState(
            f"this query would keep ever more events of the stream: {why}", plan.query.span
        )
        refusal.hint = "add WITHIN, such as WITHIN 1 HOUR"
        raise refusal
    return plan.program


@dataclass
class _TemporalPlanner:
    query: Temporal
    unit: str
    outputs: dict[e.Expr, str] = field(default_factory=dict)
    bits: list[tuple[e.Expr, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = [one.name for one in self.query.symbols]
        self.lasting = {one.name for one in self.query.symbols if one.lasts}
        conditions = [one.condition for one in self.query.symbols if one.condition is not None]
        values = [node for one in conditions for node in walk(one) if isinstance(node, e.AtRow)]
        backs = sorted({f"{p.BACK}{-node.shift}" for node in values if node.shift})
        ends = [f"{end}{number}" for end in (p.START_OF, p.END_OF) for number, _ in enumerate(self.names)]
        variables: dict[EventName, tuple[str, ...]] = dict.fromkeys((ROW, p.CURRENT, *backs, *ends), ())
        self.columns = EventColumns(variables, names={*RESERVED, p.TIME, p.BITS})
        self.values = KernelValues(self.columns, frozenset(backs))

    def plan(self) -> TemporalPlan:
        query = self.query
        keys = tuple(self.columns.column(self._key(name), ROW).name for name in query.partition)
        definitions = {one.name: one for one in query.symbols}
        symbols = tuple(map(self._symbol, query.symbols))
        outputs = tuple(self._outputs())
        if len(self.bits) > MOST_SYMBOLS:
            raise UnsupportedQuery(f"a pattern with more than {MOST_SYMBOLS} conditions", query.span)
        program = p.TemporalProgram(
            symbols,
            keys,
            tuple(self._alternative(one, definitions) for one in query.alternatives),
            outputs,
            self._number(query.within),
            groups(self.values.coded),
            query.text,
        )
        return TemporalPlan(query, program, tuple(self.columns.all()), tuple(self.bits), self.outputs)

    def _number(self, window: Window | None) -> int | None:
        return None if window is None else width_of(window, self.unit)[0]

    def _key(self, name: str) -> e.Expr:
        """What events are partitioned by: a FLOAT as DOUBLE, in which zero and NaN have one form."""
        column = next(column for column in self.query.columns if column.name == name)
        attribute = e.Attribute(e.Variable(ROW), written(name), column.type)
        return e.Cast(attribute, DOUBLE) if column.type in (FLOAT, DOUBLE) else attribute

    # Symbols.

    def _symbol(self, symbol: SymbolDefinition) -> p.TemporalSymbol:
        own: list[e.Expr] = []
        stream = None if symbol.stream is None else self._of_stream(symbol.stream)
        alone, tests = self._tests(symbol)
        if stream is not None and alone:
            own.append(stream)
        own += alone
        return p.TemporalSymbol(
            symbol.name,
            symbol.lasts,
            self._bit(tuple(own)) if own else None,
            None if stream is None else self._bit((stream,)),
            tuple(map(self._value, tests)),
            self._number(symbol.least),
            self._number(symbol.most),
        )

    def _of_stream(self, number: int) -> e.Expr:
        column = e.Attribute(e.Variable(ROW), written(self.query.number or ""), INT)
        return e.Binary("=", column, e.Literal(number, INT))

    def _bit(self, conditions: tuple[e.Expr, ...]) -> int:
        if conditions not in self.bits:
            self.bits.append(conditions)
        return self.bits.index(conditions)

    def _tests(self, symbol: SymbolDefinition) -> tuple[list[e.Expr], list[e.Expr]]:
        """The conditions of a symbol that are about the event alone, which they call ROW, and the others."""
        alone, others = [], []
        for conjunct in conjuncts(symbol.condition):
            condition = self._of_events(conjunct)
            named = {node.name for node in walk(condition) if isinstance(node, e.Variable)}
            if named <= {p.CURRENT}:
                alone.append(renamed(condition, p.CURRENT, ROW))
            else:
                others.append(condition)
        return alone, others

    def _of_events(self, condition: e.Expr) -> e.Expr:
        """A condition with the names that the kernel has for the events."""

        def change(node: Node) -> Node:
            if isinstance(node, e.AtRow):
                return renamed(node.argument, ROW, self._event(node))
            return map_children(node, change)

        changed = change(without_spans(condition))
        assert isinstance(changed, e.Expr)
        return changed

    def _event(self, node: e.AtRow) -> str:
        if node.shift:
            return f"{p.BACK}{-node.shift}"
        if not node.variables:
            return p.CURRENT
        (name,) = node.variables
        at_start = node.anchor == "FIRST" or name not in self.lasting
        return f"{p.START_OF if at_start else p.END_OF}{self.names.index(name)}"

    def _value(self, condition: e.Expr) -> Value:
        try:
            return self.values.value(condition)
        except NotInKernel as missing:
            raise UnsupportedQuery(f"`{missing}` over several events, in DEFINE", self.query.span) from None

    # Alternatives.

    def _alternative(
        self, alternative: SymbolAlternative, definitions: Mapping[str, SymbolDefinition]
    ) -> p.TemporalAlternative:
        order = join_order(alternative, definitions)
        return p.TemporalAlternative(
            tuple(map(self.names.index, order)),
            tuple(
                self._constraint(one)
                for one in alternative.relations
                if {one.left, one.right} <= set(alternative.symbols)
            ),
            tuple(
                p.AbsentRun(
                    self.names.index(name), tuple(map(self._constraint, alternative.relations_of(name)))
                )
                for name in alternative.absent
            ),
        )

    def _constraint(self, relation: SymbolRelation) -> p.TemporalConstraint:
        left, right = self.names.index(relation.left), self.names.index(relation.right)
        return p.TemporalConstraint(left, right, tuple(map(program_word, relation.words)))

    # Results.

    def _outputs(self) -> Iterator[p.TemporalOutput]:
        made: dict[tuple[int, p.RunPart, str], p.TemporalOutput] = {}
        for node in (node for measure in self.query.measures for node in walk(measure.expression)):
            if not isinstance(node, e.AtRow | e.OverRows):
                continue
            (name,) = node.variables
            argument = e.Literal(1, INT) if node.argument is None else without_spans(node.argument)
            column = self.columns.column(argument, ROW).name
            place = (self.names.index(name), self._part(node), column)
            if place not in made:
                made[place] = p.TemporalOutput(f"out_{len(made) + 1}", *place)
                yield made[place]
            self.outputs[without_spans(node)] = made[place].name

    def _part(self, node: e.AtRow | e.OverRows) -> p.RunPart:
        if isinstance(node, e.OverRows):
            return p.RunPart.ALL
        at_start = node.anchor == "FIRST" or node.variables[0] not in self.lasting
        return p.RunPart.START if at_start else p.RunPart.END


def program_word(word: Word) -> p.Word:
    """A word as programs write it.

    >>> program_word(("A", "AB", "B")) == p.word_of("AA.BB", "A")
    True
    >>> from neelc.ir.allen import WORDS
    >>> {program_word(one) for one in WORDS} == set(p.WORDS)
    True
    """
    seen: set[str] = set()
    steps = []
    for step in word:
        total = 0
        for letter in step:
            start, end = (p.FIRST_START, p.FIRST_END) if letter == "A" else (p.SECOND_START, p.SECOND_END)
            total += end if letter in seen else start
            seen.add(letter)
        steps.append(total)
    return tuple(steps)
