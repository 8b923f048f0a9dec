"""From a bound MATCH_RECOGNIZE to what Spark computes of each row, and the program that finds the matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import permutations

from neelc.arguments import BUCKETS
from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import UNMATCHED, BoundClause, HostQuery, Recognize
from neelc.ir.expressions import ROW
from neelc.ir.names import written
from neelc.ir.node import walk
from neelc.ir.row_patterns import RowExclusion, RowVariable
from neelc.ir.types import DATE, DOUBLE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import width_of
from neelc.rows.plan.conditions import (
    Conditions,
    RowColumns,
    columns_at_row,
    columns_over_rows,
    path_condition,
    row_argument,
)
from neelc.runtime.kernels.rows import program as p
from neelc.runtime.kernels.rows.program import ACCEPT, Choices, Machine
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.type_of import is_zoned, type_of, value_type

# From a row pattern to an automaton that takes one row at each step.
#
# The pattern is first made a graph, from its end to its beginning: a part is built with what comes after
# it. A part that may be empty can be followed by two things: `taken` if it took a row, `empty` if it did
# not. For a repetition that is not required must take a row, so there it is followed by nothing.

MOST_PLACES = 10_000
MOST_EDGES = 100 * MOST_PLACES
MOST_STEPS = 20 * MOST_PLACES
"""How often a part is built. Parts that take no row have no places, but repeating them takes time, too."""


@dataclass(eq=False)
class RowTake:
    """A row of a variable."""

    variable: str
    excluded: bool
    then: Step
    number: int = -1


@dataclass(eq=False)
class Anchor:
    """Goes on at the partition's first row (`^`) or after its last one (`$`)."""

    kind: str
    then: Step


@dataclass(eq=False)
class Split:
    """The preferred way first; without any, this is a dead end."""

    ways: list[Step] = field(default_factory=list)


@dataclass(eq=False)
class Accept:
    """The end of the pattern."""


Step = RowTake | Anchor | Split | Accept


def machine_of(pattern: r.RowPattern, names: tuple[str, ...]) -> Machine:
    """The automaton of a pattern over variables of these names.

    >>> a, b = r.RowVariable("A"), r.RowVariable("B")
    >>> machine = machine_of(r.RowSequence((a, r.RowRepeat(b, 0, None))), ("A", "B"))
    >>> machine.variables, machine.start, machine.after
    ((0, 1), (0,), ((1, -1), (1, -1)))
    """
    try:
        end = Accept()
        entry = _Builder().built(pattern, end, end, False)
    except RecursionError:
        raise UnsupportedQuery("a row pattern that is nested too deeply", pattern.span) from None
    places = _places(entry)
    if len(places) > MOST_PLACES:
        raise _too_large(pattern)
    numbers = {name: number for number, name in reversed([*enumerate(names)])}
    return Machine(
        tuple(numbers[place.variable] for place in places),
        tuple(place.excluded for place in places),
        _choices(entry, at_first=True),
        _choices(entry),
        tuple(_edges(places, pattern)),
        tuple(ACCEPT in _choices(place.then, at_end=True) for place in places),
    )


def _edges(places: Sequence[RowTake], pattern: r.RowPattern) -> Iterator[Choices]:
    """What may come after each place; many parts in a row that may be empty have very many edges."""
    number = 0
    for place in places:
        found = _choices(place.then)
        number += len(found)
        if number > MOST_EDGES:
            raise UnsupportedQuery(
                f"a row pattern with more than {MOST_EDGES} ways from row to row", pattern.span
            )
        yield found


def _too_large(pattern: r.RowPattern) -> UnsupportedQuery:
    return UnsupportedQuery(f"a row pattern with more than {MOST_PLACES} places", pattern.span)


class _Builder:
    def __init__(self) -> None:
        self.places = 0
        self.steps = 0

    def built(self, pattern: r.RowPattern, taken: Step, empty: Step, excluded: bool) -> Step:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _too_large(pattern)
        match pattern:
            case r.RowVariable(name):
                self.places += 1
                if self.places > MOST_PLACES:
                    raise _too_large(pattern)
                return RowTake(name, excluded, taken)
            case r.RowSequence(parts):
                return self._sequence(parts, taken, empty, excluded)
            case r.RowAlternation(parts):
                return Split([self.built(part, taken, empty, excluded) for part in parts])
            case r.RowPermute(parts) if all(isinstance(part, r.RowVariable) for part in parts):
                return self._permuted(parts, taken, excluded)
            case r.RowPermute(parts):
                orders = permutations(parts)
                return Split([self._sequence(order, taken, empty, excluded) for order in orders])
            case r.RowRepeat():
                return self._repeat(pattern, taken, empty, excluded)
            case r.RowExclusion(part):
                return self.built(part, taken, empty, True)
            case r.RowAnchor(kind):
                return Anchor(kind, empty)
        return empty

    def _sequence(self, parts: Sequence[r.RowPattern], taken: Step, empty: Step, excluded: bool) -> Step:
        for part in reversed(parts):
            after_row = self.built(part, taken, taken, excluded)
            empty = after_row if taken is empty else self.built(part, taken, empty, excluded)
            taken = after_row
        return empty

    def _permuted(self, variables: tuple[r.RowPattern, ...], taken: Step, excluded: bool) -> Step:
        """What may follow some of the variables is the same whatever their order was, so it is built once:
        ten variables have 5,120 places, not 36,288,000. Other parts can be read in several ways, and all ways
        of the first one come before the next order of the rest: those are written out."""
        known: dict[frozenset[int], Step] = {frozenset(): taken}

        def rest(left: frozenset[int]) -> Step:
            if left not in known:
                after = [(one, rest(left - {one})) for one in sorted(left)]
                known[left] = Split([self.built(variables[one], then, then, excluded) for one, then in after])
            return known[left]

        return rest(frozenset(range(len(variables))))

    def _repeat(self, repeat: r.RowRepeat, taken: Step, empty: Step, excluded: bool) -> Step:
        """First the times that are not required, then before them those that are."""
        part, least = repeat.part, repeat.least
        if max(least, (repeat.most or least) - least) > MOST_PLACES:
            raise _too_large(repeat)
        if repeat.most is None:
            again = Split()
            once = self.built(part, again, Split(), excluded)
            again.ways = _preferred(repeat, once, taken)
            if least and not can_be_empty(part):
                # The last time that is required is the first one of the loop.
                after_row, after_none, least = once, once, least - 1
            else:
                after_row = again
                after_none = again if taken is empty else Split(_preferred(repeat, once, empty))
        else:
            after_row, after_none = taken, empty
            for _ in range(repeat.most - least):
                once = self.built(part, after_row, Split(), excluded)
                shared = after_row is after_none
                after_row = Split(_preferred(repeat, once, taken))
                after_none = after_row if shared else Split(_preferred(repeat, once, empty))
        return self._sequence([part] * least, after_row, after_none, excluded)


def _preferred(repeat: r.RowRepeat, once: Step, stop: Step) -> list[Step]:
    return [stop, once] if repeat.reluctant else [once, stop]


def can_be_empty(pattern: r.RowPattern) -> bool:
    """Whether a pattern can be read without taking a row.

    >>> can_be_empty(r.RowRepeat(r.RowVariable("A"), 0, 1)), can_be_empty(r.RowVariable("A"))
    (True, False)
    """
    match pattern:
        case r.RowVariable():
            return False
        case r.RowSequence(parts) | r.RowPermute(parts):
            return all(map(can_be_empty, parts))
        case r.RowAlternation(parts):
            return any(map(can_be_empty, parts))
        case r.RowRepeat(part, least):
            return least == 0 or can_be_empty(part)
        case r.RowExclusion(part):
            return can_be_empty(part)
    return True


def _places(entry: Step) -> list[RowTake]:
    """The places that can be reached, numbered in the order of the pattern."""
    takes: list[RowTake] = []
    seen: set[int] = set()
    waiting = [entry]
    while waiting:
        step = waiting.pop()
        if id(step) in seen:
            continue
        seen.add(id(step))
        match step:
            case RowTake(then=then):
                step.number = len(takes)
                takes.append(step)
                waiting.append(then)
            case Anchor(then=then):
                waiting.append(then)
            case Split(ways):
                waiting.extend(reversed(ways))
    return takes


def _choices(step: Step, at_first: bool = False, at_end: bool = False) -> Choices:
    """What may come next, the preferred choice first. After ACCEPT no other is ever taken."""
    choices: dict[int, None] = {}
    for choice in _ways(step, at_first, at_end, set()):
        choices.setdefault(choice)
        if choice == ACCEPT:
            break
    return tuple(choices)


def _ways(step: Step, at_first: bool, at_end: bool, seen: set[int]) -> Iterator[int]:
    waiting = [step]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case RowTake(number=number):
                if not at_end:
                    yield number
            case Accept():
                yield ACCEPT
            case Anchor(kind, then):
                if at_first if kind == "^" else at_end:
                    waiting.append(then)
            case Split(ways):
                waiting.extend(reversed(ways))


MOST_VARIABLES = 62

STREAM_COLUMNS = frozenset({"start", "bucket", *p.KEPT_COLUMNS})
"""Columns of a stream's rows that are not the query's."""


@dataclass(frozen=True)
class RowPlan:
    """A clause, planned. `columns` are computed of each row, by name; those in `numbers` are times, written
    as numbers. A row has the bit of variable v if it meets `bits[v]`. `outputs` has the names of the
    program's outputs by what they stand for. If `streaming`, Spark needs no windows over rows, which streams
    do not have: neither for bits nor for aggregates, whose values the program gives as lists."""

    query: Recognize
    program: p.RowProgram
    columns: dict[str, e.Expr]
    numbers: frozenset[str]
    keys: tuple[str, ...]
    own: tuple[str, ...]
    order: tuple[str, ...]
    bits: tuple[tuple[e.Expr, ...], ...]
    outputs: dict[p.Output, str]
    streaming: bool = False

    @property
    def depends_on_path(self) -> tuple[str, ...]:
        """The variables with conditions that depend on which rows the match has taken."""
        return tuple(self.program.names[one.variable] for one in self.program.conditions)


def row_plan(query: Recognize, streaming: bool = False) -> RowPlan:
    """The plan of a clause; `Unsupported` if there is none."""
    return _Planner(query, streaming).plan()


@dataclass
class _Planner:
    query: Recognize
    streaming: bool
    columns: RowColumns = field(default_factory=RowColumns)
    outputs: dict[p.Output, str] = field(default_factory=dict)
    given: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.streaming:
            self.columns.reserved |= STREAM_COLUMNS
        names = (node.name for node in walk(self.query.pattern) if isinstance(node, RowVariable))
        self.names = tuple(dict.fromkeys(names))
        if len(self.names) > MOST_VARIABLES:
            what = f"a row pattern with more than {MOST_VARIABLES} variables"
            raise UnsupportedQuery(what, self.query.pattern.span)

    def plan(self) -> RowPlan:
        query = self.query
        keys = tuple(self.columns.column(_key(self._attribute(name))) for name in query.partition)
        first, rest = query.own_columns
        own = tuple(self.columns.column(self._attribute(column.name)) for column in (*first, *rest))
        order = tuple(self.columns.column(item.expression) for item in query.order)
        machine = machine_of(query.pattern, self.names)
        conditions = Conditions(self.names, self.columns, machine, has_neighbours=not self.streaming)
        for definition in query.definitions:
            if definition.variable in self.names:
                conditions.add(definition.variable, definition.condition)
        conditions.keep_columns()
        path = tuple(
            path_condition(self.names.index(name), condition, self.columns, self._looked)
            for name, condition in conditions.path.items()
        )
        for measure in query.measures:
            self._measure(measure.expression)
        if query.all_rows:
            self._for_all_rows()
        if not (keys or own or self.outputs):
            self.output(p.PropertyOutput("", "ROW"))  # a batch without any column has no rows
        reach, rows = self._window()
        program = p.RowProgram(
            machine,
            self.names,
            keys,
            tuple(replace(output, name=name) for output, name in self.outputs.items()),
            (*own, *self.given),
            None if query.all_rows is None else query.all_rows.split()[0 if "EMPTY" in query.all_rows else 1],
            _SKIPS[query.skip.kind],
            self.mask(query.skip.variables) if query.skip.variables else 0,
            any(conditions.bits),
            tuple(conditions.nearby),
            conditions.codings,
            path,
            reach,
            rows,
            starting=tuple(conditions.starting),
            zoned=any(map(is_zoned, conditions.path.values())),
            label=str(query.pattern),
        )
        if reach is None and not p.columns_read(program):
            program = replace(program, flagged=True)  # nor has one that is read
        bits = tuple(map(tuple, conditions.bits))
        columns, numbers = self.columns.columns, frozenset(self.columns.numbers)
        return RowPlan(query, program, columns, numbers, keys, own, order, bits, self.outputs, self.streaming)

    def _attribute(self, name: str) -> e.Expr:
        computed = next((one.expression for one in self.query.computed if one.name == name), None)
        if computed is not None:
            return computed
        column = next(column for column in self.query.columns if column.name == name)
        return e.Attribute(e.Variable(ROW), written(name), column.type)

    def mask(self, variables: tuple[str, ...]) -> int:
        """The bits of variables; all if there are none."""
        if not variables:
            return (1 << len(self.names)) - 1
        return sum(1 << self.names.index(one) for one in variables)

    def _looked(self, value: e.RowValue, columns: RowColumns) -> p.ConditionValue:
        match value:
            case e.AtRow(_, argument):
                return p.ConditionValue(self.at(value), row_argument(argument, columns))
            case e.OverRows(_, name, None, variables):
                return p.ConditionValue(name="rows", variables=self.mask(variables))
            case e.OverRows(type, name, argument, variables, _, distinct):
                assert argument is not None
                column = row_argument(argument, columns)
                return p.ConditionValue(None, column, name, self.mask(variables), value_type(type), distinct)
        return p.ConditionValue()

    def at(self, value: e.AtRow) -> p.RowLocation:
        return p.RowLocation(
            self.mask(value.variables), value.anchor == "LAST", value.place, value.shift, value.final
        )

    def _measure(self, expression: e.Expr) -> None:
        for node in walk(expression):
            match node:
                case e.AtRow(_, argument):
                    self._value(node, argument)
                case e.OverRows(_, _, None, variables, final):
                    self.output(p.CountOutput("", self.mask(variables), final))
                case e.OverRows(_, _, argument, variables, final):
                    assert argument is not None
                    self._aggregate(argument, self.mask(variables), final)
                case e.MatchNumber():
                    self.output(p.PropertyOutput("", "MATCH_NUMBER"))
                case e.ConstantRowValue(_, argument):
                    self.given.setdefault(self.columns.column(argument))

    def _value(self, node: e.AtRow, argument: e.Expr) -> None:
        at = self.at(node)
        for column in columns_at_row(argument):
            self.output(p.ValueOutput("", at, None if column is None else self.columns.column(column)))

    def _aggregate(self, argument: e.Expr, mask: int, final: bool) -> None:
        if self.query.all_rows is None or self.streaming:
            is_final = final or self.query.all_rows is None
            for column in columns_over_rows(argument):
                name = None if column is None else self.columns.column(column)
                self.output(p.ValuesOutput("", mask, name, is_final))
        else:
            self.output(p.MembershipOutput("", mask))
            self._value(e.AtRow(type_of(argument), argument), argument)

    def _for_all_rows(self) -> None:
        """What windows over the rows of a match need, and what is left out at the end."""
        measured = (node for measure in self.query.measures for node in walk(measure))
        is_aggregate = (isinstance(node, e.OverRows) and node.argument is not None for node in measured)
        if any(is_aggregate) and not self.streaming:
            self.output(p.PropertyOutput("", "MATCH_NUMBER"))
            self.output(p.PropertyOutput("", "ROW"))
        if self.query.all_rows == UNMATCHED:
            self.output(p.PropertyOutput("", "MATCH_NUMBER"))
        if _has_exclusion(self.query):
            self.output(p.PropertyOutput("", "EXCLUDED"))

    def output(self, output: p.Output) -> str:
        """The name of the program's output for this."""
        return self.outputs.setdefault(output, f"out_{len(self.outputs) + 1}")

    def _window(self) -> tuple[int | None, int | None]:
        """How far the time of a match may reach, and how many rows it may have."""
        if self.query.within is None:
            return None, None
        width, counts = width_of(self.query.within, time_unit(self.query))
        return (None, width) if counts else (width, None)


def time_unit(query: Recognize) -> str:
    """The unit of the times that WITHIN limits, as whole numbers."""
    type = type_of(query.order[0].expression) if query.order else None
    units: dict[object, str] = {TIMESTAMP: "MICROSECOND", TIMESTAMP_NTZ: "MICROSECOND", DATE: "DAY"}
    return units.get(type, query.unit)


_SKIPS = {"PAST LAST ROW": "PAST", "TO NEXT ROW": "NEXT", "TO FIRST": "FIRST", "TO LAST": "LAST"}


def _has_exclusion(query: Recognize) -> bool:
    return any(isinstance(node, RowExclusion) for node in walk(query.pattern))


def _key(column: e.Expr) -> e.Expr:
    """What rows are partitioned by. A DOUBLE is another column than the one it is made of: zero has two forms
    and NaN has many, and there they are one."""
    if type_of(column) in (FLOAT, DOUBLE):
        return e.Cast(column, DOUBLE)
    return column


# The query around the clauses: Spark plans it, and each clause is a relation in it.


@dataclass(frozen=True)
class ClausePlan:
    """A clause of a query of Spark's, planned; over a stream without end also with what that requires."""

    bound: BoundClause
    plan: RowPlan
    streamed: p.StreamedRows | None = None

    @property
    def strategy(self) -> str:
        is_linear = not self.plan.program.conditions and self.plan.query.within is None
        return "linear" if is_linear else "backtracking"


@dataclass(frozen=True)
class HostPlan:
    """A query of Spark's own SQL with the plans of its clauses: one that stands in what another reads comes
    before it."""

    query: HostQuery
    clauses: tuple[ClausePlan, ...]
    buckets: int = BUCKETS

    @property
    def strategies(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(clause.strategy for clause in self.clauses)) or ("rows",)


def host_plan(query: HostQuery) -> HostPlan:
    """The plan of a query of Spark's; raises `UnsupportedQuery`."""
    return HostPlan(query, tuple(ClausePlan(clause, row_plan(clause.recognize)) for clause in query.clauses))
