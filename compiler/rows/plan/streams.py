"""MATCH_RECOGNIZE over a stream without end: what is kept of each key, and the queries for which that has no
bound.

A match is decided once it cannot depend on rows to come. Until then, all rows from its first one on are kept.
So there must be a bound on how long that takes: WITHIN, or a pattern that takes a bounded number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import HostQuery, Recognize, SimpleQuery
from neelc.ir.expressions import ROW
from neelc.ir.names import bare
from neelc.ir.node import Node, walk
from neelc.ir.row_patterns import SortItem
from neelc.pattern.plan.blocks import UnboundedState, UnsupportedQuery
from neelc.pattern.plan.stream_network import UnsupportedNetwork
from neelc.rows.plan.conditions import columns_at_row, columns_over_rows
from neelc.rows.plan.expression_to_value import lowered
from neelc.rows.plan.plan import ClausePlan, HostPlan, RowPlan, row_plan
from neelc.runtime.kernels.rows import program as p
from neelc.runtime.kernels.rows.program import ACCEPT, Choices, Machine, RowOrder, StreamedRows
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import ELEMENT, ColumnValue, ListColumn, Value
from neelc.scalar.type_of import value_type


class NotInTimeOrder(UnsupportedQuery):
    """Rows of a stream in an order that is not known while they come."""

    code = "NEEL4134"
    is_sentence = True

    def __init__(self, what: str, time: str, order: Sequence[SortItem], pattern: r.RowPattern) -> None:
        super().__init__(what, order[0].span if order else pattern.span)
        self.hint = f"begin with the event time: ORDER BY {time}"


class EndOfStream(UnsupportedQuery):
    """A pattern that names the last row of a partition that has none."""

    code = "NEEL4135"
    hint = "leave out `$`; with WITHIN, a match ends when its time has passed"
    is_sentence = True


def streamed_rows(plan: RowPlan, event_time: str) -> StreamedRows:
    """The program of a clause for streams whose event time is the column of this name. Its plan is one for
    `streaming`. Raises `UnboundedState` if the rows that are kept of a key have no bound."""
    assert plan.streaming, "Spark has no windows over the rows of a stream"
    query, program = plan.query, plan.program
    _check_order(query, event_time)
    for node in walk(query.pattern):
        if isinstance(node, r.RowAnchor) and node.kind == "$":
            raise EndOfStream("`$` never matches: a stream has no last row", node.span)
    longest = longest_match(program, _unconditional(plan))
    if query.within is None and longest is None:
        raise _unbounded(query)
    return StreamedRows(
        program,
        tuple(_ties(plan)),
        longest,
        look_back(program),
        numbered=_counts_matches(query),
        anchored=program.machine.first != program.machine.start,
    )


def streamed_host_plan(query: HostQuery, buckets: int) -> HostPlan:
    """The plan of a query of Spark's over streams; raises `UnsupportedQuery`.

    One stateful operator of neelc's can stand in a query. What a clause reads has its watermark on the column
    that comes first in ORDER BY: that of a stream is known here, that of a subquery when the DataFrame is
    built, and that of another query when it is known how late its rows are."""
    if len(query.clauses) != 1:
        second = UnsupportedQuery(
            "more than one MATCH_RECOGNIZE in a query over streams without end", query.span
        )
        second.hint = "write the results of the first to a table or a topic, and read that as a stream"
        raise second
    (bound,) = query.clauses
    stream = next((one for one in query.streams if one.name == bound.reads), None)
    if stream is not None and stream.producer is not None:
        stream = None
    plan = row_plan(bound.recognize, streaming=True)
    streamed = streamed_rows(plan, _first_column(bound.recognize) if stream is None else stream.start)
    return HostPlan(query, (ClausePlan(bound, plan, streamed),), buckets)


def _first_column(query: Recognize) -> str:
    """The column that comes first in ORDER BY; `ts` where there is none."""
    match query.order:
        case (SortItem(e.Attribute(_, name)), *_):
            return bare(name)
    return "ts"


def _check_order(query: Recognize, event_time: str) -> None:
    """Rows up to the watermark have come, and have their place: if time is what they are sorted by."""
    match query.order:
        case (SortItem(e.Attribute(e.Variable(variable), name), descending=False), *_) if (
            variable == ROW and bare(name) == event_time
        ):
            return
        case (SortItem(descending=True), *_):
            what = "ORDER BY begins with DESC, from the last row on"
        case ():
            what = "there is no ORDER BY"
        case (first, *_):
            what = f"ORDER BY begins with `{str(first.expression).replace(f'{ROW}.', '')}`"
    raise NotInTimeOrder(
        f"over a stream, MATCH_RECOGNIZE reads rows by their event time, and {what}",
        event_time,
        query.order,
        query.pattern,
    )


def _ties(plan: RowPlan) -> Iterator[RowOrder]:
    """How rows of one instant are sorted: NULL comes first, and with DESC last, unless NULLS is given."""
    for item, column in zip(plan.query.order[1:], plan.order[1:], strict=True):
        nulls_last = item.descending if item.nulls is None else item.nulls == "LAST"
        yield RowOrder(column, 1, item.descending, nulls_last)


def _counts_matches(query: Recognize) -> bool:
    """Whether the number of a match matters, in its key: MATCH_NUMBER()."""
    used = (*query.measures, *query.definitions)
    return any(isinstance(node, e.MatchNumber) for one in used for node in walk(one))


# How many rows a match can have.


def longest_match(program: p.RowProgram, unconditional: frozenset[int] = frozenset()) -> int | None:
    """The most rows of which it can depend what the preferred match from a row is; None if there is no most.
    Rows are always mapped to `unconditional` variables: what is preferred less than these is never chosen.

    >>> from neelc.rows.plan.plan import machine_of
    >>> a, b, c = (r.RowVariable(name) for name in "ABC")
    >>> def longest(*parts, free=()):
    ...     machine = machine_of(r.RowSequence(parts), ("A", "B", "C"))
    ...     return longest_match(p.RowProgram(machine, ("A", "B", "C"), (), ()), frozenset(free))
    >>> longest(a, r.RowRepeat(b, 0, 3), c), longest(a, r.RowRepeat(b, 0, None), c)
    (5, None)

    A reluctant repetition ends at once where nothing else is required, or where the next row will do:

    >>> again = r.RowRepeat(b, 0, None, reluctant=True)
    >>> longest(a, again), longest(a, again, c), longest(a, again, c, free=[2])
    (1, None, 2)
    """
    machine = program.machine
    sure = _never_in_vain(machine, unconditional)
    after = [_preferred(ways, sure) for ways in machine.after]
    reached = _reached(after, {*_preferred(machine.first, sure), *_preferred(machine.start, sure)})
    before: dict[int, list[int]] = {one: [] for one in reached}
    for one in reached:
        for then in after[one]:
            before[then].append(one)
    # From the places after which a match ends to those before them.
    missing = {one: len(after[one]) for one in reached}
    ready = [one for one in reached if not missing[one]]
    lengths = dict.fromkeys(reached, 1)
    for one in ready:
        for earlier in before[one]:
            lengths[earlier] = max(lengths[earlier], lengths[one] + 1)
            missing[earlier] -= 1
            if not missing[earlier]:
                ready.append(earlier)
    return None if len(ready) < len(reached) else max(lengths.values(), default=0)


def _preferred(choices: Choices, sure: set[int]) -> list[int]:
    """The places that are chosen, up to the first that is never in vain."""
    found = []
    for one in choices:
        if one != ACCEPT:
            found.append(one)
        if one in sure:
            break
    return found


def _never_in_vain(machine: Machine, unconditional: frozenset[int]) -> set[int]:
    """The places from which a match is completed whatever the rows are."""
    found: set[int] = set()
    size = -1
    while size < len(found):
        size = len(found)
        found |= {
            place
            for place, ways in enumerate(machine.after)
            if machine.variables[place] in unconditional
            and any(one == ACCEPT or one in found for one in ways)
        }
    return found


def _reached(after: Sequence[Sequence[int]], first: Iterable[int]) -> set[int]:
    found, waiting = set(first), list(first)
    while waiting:
        new = set(after[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def _unconditional(plan: RowPlan) -> frozenset[int]:
    """The variables without a condition."""
    program = plan.program
    conditional = {number for number, conjuncts in enumerate(plan.bits) if conjuncts}
    conditional |= {one.variable for one in (*program.nearby, *program.starting)}
    conditional |= {one.variable for one in program.conditions}
    return frozenset(range(len(program.names))) - conditional


def _unbounded(query: Recognize) -> UnboundedState:
    endless = next(
        node for node in walk(query.pattern) if isinstance(node, r.RowRepeat) and node.most is None
    )
    refusal = UnboundedState(
        f"this query would keep ever more rows of the stream: `{endless}` may take any number of rows, and "
        "there is no WITHIN",
        endless.span,
    )
    refusal.hint = "add WITHIN after PATTERN, such as WITHIN 1 HOUR, or an upper bound, such as {1,100}"
    return refusal


# How many rows before a match it looks at.


def look_back(program: p.RowProgram) -> int:
    """How many rows before a match its conditions and outputs look at. In `STRT DOWN+`, where DOWN looks at
    the row before it, there is none: that row is in the match."""
    depths = _depths(program.machine)
    found = [0]
    for nearby in program.nearby:
        found += [-shift - depths.get(nearby.variable, 0) for shift in p.nearby_distances(nearby)]
    for starting in program.starting:
        found += [-shift for shift in p.nearby_distances(starting)]
    looked = [one.at for condition in program.conditions for one in condition.looked]
    shown = [one.at for one in program.outputs if isinstance(one, p.ValueOutput)]
    for at in (*looked, *shown):
        if at is not None:
            mapped = [depth for variable, depth in depths.items() if at.variables >> variable & 1]
            first = min(mapped, default=0) + (0 if at.last else at.place)
            found.append(-at.shift - first)
    return max(found)


def _depths(machine: Machine) -> dict[int, int]:
    """For each variable, the fewest rows that a match has before one that is mapped to it."""
    found: dict[int, int] = {}
    seen: set[int] = set()
    places, depth = {one for one in (*machine.first, *machine.start) if one != ACCEPT}, 0
    while places:
        seen |= places
        for place in places:
            found.setdefault(machine.variables[place], depth)
        places = {one for place in places for one in machine.after[place] if one != ACCEPT} - seen
        depth += 1
    return found


# Queries that are read by others: workers compute measures, and the query around the clause.

AGGREGATES = frozenset("any avg bool_and bool_or count count_if every max mean min some sum".split())


@dataclass
class ClauseValues:
    """Expressions over what the program of a clause gives for each match; `lists` collects the columns that
    are computed from lists."""

    plan: RowPlan
    simple: SimpleQuery
    lists: list[ListColumn] = field(default_factory=list)

    def value(self, expression: e.Expr) -> Value:
        """An item of SELECT around the clause, or WHERE."""
        return lowered(expression, self._column)

    def behind(self, name: str) -> e.Expr | None:
        """The measure, or the column of PARTITION BY, that a column of the result is; None if it is another
        expression."""
        found = [one.expression for one in self.simple.outputs if one.name == name]
        match found:
            case [e.Attribute() as shown]:
                column = bare(shown.name)
            case _:
                return None
        measures = [one.expression for one in self.plan.query.measures if one.name == column]
        return measures[0] if measures else shown

    def _column(self, node: Node) -> Value | None:
        if not isinstance(node, e.Attribute):
            return None
        name = bare(node.name)
        for measure in self.plan.query.measures:
            if measure.name == name:
                return lowered(measure.expression, self._of_match)
        return ColumnValue("", self.own(name))

    def own(self, name: str) -> str:
        """The column of PARTITION BY in what the program gives."""
        first, rest = self.plan.query.own_columns
        return dict(zip((one.name for one in (*first, *rest)), self.plan.own, strict=True))[name]

    def _of_match(self, node: Node) -> Value | None:
        match node:
            case e.AtRow(_, argument):
                if len(columns_at_row(argument)) > 1:
                    raise self._refused(node)
                at = p.RowLocation(
                    self._mask(node.variables), node.anchor == "LAST", node.place, node.shift, node.final
                )
                return self._output(p.ValueOutput("", at, self._argument(argument)))
            case e.OverRows(_, _, None, variables, final):
                return self._output(p.CountOutput("", self._mask(variables), final))
            case e.OverRows(type, name, argument, variables, _, distinct):
                assert argument is not None
                if len(columns_over_rows(argument)) > 1 or name not in AGGREGATES:
                    raise self._refused(node)
                values = self._output(
                    p.ValuesOutput("", self._mask(variables), self._argument(argument), True)
                )
                column = f"#list {len(self.lists)}"
                self.lists.append(ListColumn(column, values, ELEMENT, value_type(type), name, distinct))
                return ColumnValue("", column)
            case e.MatchNumber():
                return self._output(p.PropertyOutput("", "MATCH_NUMBER"))
            case e.RowValue():
                raise self._refused(node)
        return None

    def _argument(self, argument: e.Expr) -> str | None:
        if isinstance(argument, e.Classifier):
            return None
        names = (name for name, known in self.plan.columns.items() if known == argument)
        return next(name for name in names if name not in self.plan.numbers)

    def _mask(self, variables: tuple[str, ...]) -> int:
        names = self.plan.program.names
        return sum(1 << names.index(one) for one in variables) if variables else (1 << len(names)) - 1

    def _output(self, output: p.Output) -> Value:
        return ColumnValue("", self.plan.outputs[output])

    def _refused(self, node: e.Expr) -> UnsupportedNetwork:
        return UnsupportedNetwork(f"the measure `{node}` of a query that another one reads", node.span)


# When matches are decided, and what is kept, for people.


def decided_when(streamed: StreamedRows) -> str:
    """When the watermark has passed what decides a match."""
    _, ahead = p.sight(streamed.program)
    later = f", and the {_rows(ahead)} after them" if ahead else ""
    return (
        "when the watermark has passed its rows, and the row that shows that it does not go on, if it could"
        f"{later}; at the latest {_latest(streamed.program, streamed.longest)}"
    )


def _latest(program: p.RowProgram, longest: int | None) -> str:
    if program.reach is not None:
        return "when WITHIN has passed"
    return f"when {_rows(program.rows or longest or 0)} have come from its first one on"


def kept_rows(streamed: StreamedRows) -> tuple[str, ...]:
    """What is kept of each key, and for how long, one sentence each."""
    _, ahead = p.sight(streamed.program)
    latest = _latest(streamed.program, streamed.longest)
    kept = [
        "the rows of each key since the first from which a match is not decided; it is decided, at the "
        f"latest, {latest}"
    ]
    if ahead:
        kept.append(
            f"the last {_rows(ahead)} of each key, until the rows after come, since NEXT looks at them"
        )
    if streamed.behind:
        kept.append(f"the last {_rows(streamed.behind)} of each key, for ever, since PREV looks at them")
    if streamed.numbered:
        kept.append("how many matches each key had, for ever, for MATCH_NUMBER()")
    if streamed.anchored:
        kept.append("each key, for ever, since `^` is its first row")
    return tuple(kept)


def _rows(count: int) -> str:
    return "row" if count == 1 else f"{count} rows"
