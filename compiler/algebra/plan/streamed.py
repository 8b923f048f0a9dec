"""A SELECT over streams without end: what Spark does with each event, what one kernel does with all of them,
and what Spark does with each result.

    sources -filters, expressions, relations-> inputs -kernel-> rows -filters, expressions, relations-> result

A row that is computed of one row needs no state, so Spark does it; what needs more is a network of the
kernel's, one for the whole SELECT, because Spark has one stateful operator in a query. Inside of it
expressions are evaluated by the worker, which has neelc's functions and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from math import inf

from neelc.algebra.plan.aggregates import AggregatorPlan, aggregator_plan
from neelc.algebra.plan.sequential import (
    SequentialPlan,
    sequential_plan,
    streamed_sequential,
    without_spans,
)
from neelc.algebra.plan.temporal import TemporalPlan, streamed_temporal, temporal_plan
from neelc.algebra.rules.rule import Place, place_of, places_in, substituted
from neelc.ir import algebra as a
from neelc.ir.expressions import (
    Aggregate,
    AtRow,
    Attribute,
    Binary,
    Call,
    Expr,
    OverRows,
    Variable,
    conjoin,
    conjuncts,
)
from neelc.ir.names import bare, written
from neelc.ir.node import Node, children, map_children, walk
from neelc.ir.program import OutputColumn, Program, Stream
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INT,
    LENGTHS,
    SMALLINT,
    STRING,
    TINYINT,
    DataType,
    Decimal,
)
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import NUMBER, PLAIN_NAME, width_of
from neelc.rows.plan.expression_to_value import expression_to_value
from neelc.runtime.kernels.sequential.program import SequentialProgram, SymbolOutput
from neelc.runtime.kernels.snapshots import program as p
from neelc.runtime.kernels.temporal.program import TemporalOutput, TemporalProgram
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import ELEMENT, Apply, ColumnValue, ListColumn, Value
from neelc.scalar.signatures import SCALAR_SIGNATURES
from neelc.scalar.type_of import is_zoned, type_of, value_type

COMPUTED = (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, GEOMETRY)
"""The types, with DECIMAL, of what a worker computes. Columns that it only hands on may have any."""


class UnsupportedStreaming(UnsupportedQuery):
    """A SELECT that can be answered, but not over a stream without end."""

    code = "NEEL4136"


@dataclass(frozen=True)
class StreamedInput:
    """What the kernel reads of one source: an operator whose rows each depend on one event, and the columns
    that are computed of its payload. `keys` are the columns that decide about the bucket of a row."""

    operator: a.Operator
    columns: tuple[tuple[Expr, str], ...]
    keys: tuple[str, ...] = ()

    @property
    def read(self) -> Stream | None:
        """The other query whose results these are, as a stream; None for events from outside."""
        match self.operator:
            case a.StreamSource(_, stream) if stream.producer is not None:
                return stream
        return None


@dataclass(frozen=True)
class StreamedNetwork:
    """A SELECT over streams. `core` is the operator whose rows the kernel gives, None if nothing has a state;
    `root` is the whole network. The columns of the core's payload are `columns`; if it is an aggregator, they
    are those of its `aggregation` instead, and Spark computes the payload."""

    root: a.Operator
    unit: str
    core: a.Operator | None = None
    kernel: p.SnapshotNetwork | None = None
    inputs: tuple[StreamedInput, ...] = ()
    columns: Mapping[Place, str] = field(default_factory=dict)
    aggregation: AggregatorPlan | None = None
    groups: Mapping[Expr, str] = field(default_factory=dict)

    @property
    def is_keyed(self) -> bool:
        """Whether there is a key; else all events are in one bucket."""
        return bool(self.inputs) and all(one.keys for one in self.inputs)


def streamed_network(root: a.Operator, unit: str, orders: JoinOrders, label: str = "") -> StreamedNetwork:
    """How the network `root` runs over streams; raises `UnsupportedStreaming`."""
    root = with_relations_first(root)
    _check_readers(root)
    core = _core(root)
    if core is None:
        return StreamedNetwork(root, unit)
    builder = _Builder(unit, orders)
    if isinstance(core, a.Aggregator):
        aggregation, plan, groups = builder.aggregation(core)
        return _finished(
            StreamedNetwork(root, unit, core, aggregation=plan, groups=groups), aggregation, builder, label
        )
    payload = _read_above(root, core)
    node, names = builder.rows(core, payload)
    network = StreamedNetwork(root, unit, core, columns=_named(payload, names))
    return _finished(network, node, builder, label)


def _read_above(root: a.Operator, core: a.Operator) -> tuple[Attribute, ...]:
    """What Spark needs of the rows of the core."""

    def above(node: Node) -> Iterator[Place]:
        if isinstance(node, Attribute):
            yield place_of(node)
        for child in () if node is core else children(node):
            yield from above(child)

    named = {*above(root), *map(place_of, root.payload)}
    return tuple(one for one in core.payload if place_of(one) in named)


def whole_network(root: a.Operator, unit: str, orders: JoinOrders, label: str = "") -> StreamedNetwork:
    """The same with a kernel that gives the rows of `root` itself: for a query that others read, in the
    worker."""
    root = with_relations_first(root)
    _check_readers(root)
    builder = _Builder(unit, orders)
    node, names = builder.rows(root, root.payload)
    network = StreamedNetwork(root, unit, root, columns=_named(root.payload, names))
    return _finished(network, node, builder, label)


JoinOrders = Mapping[a.Correlator, tuple[int, ...]]
"""The places of a correlator's inputs in the order in which they are joined; those of others are as
written."""


def _finished(
    network: StreamedNetwork, node: p.SnapshotOperator, builder: _Builder, label: str
) -> StreamedNetwork:
    keys = bucket_keys(node)
    inputs = [replace(one, keys=keys.get(number, ())) for number, one in enumerate(builder.inputs)]
    columns = (*network.groups.values(), *network.columns.values())
    if network.aggregation is not None:
        columns += tuple(one.name for one in network.aggregation.folded.values())
    kernel = p.SnapshotNetwork(node, tuple(dict.fromkeys(columns)), label)
    return replace(network, kernel=kernel, inputs=tuple(inputs))


def kept_of(operator: a.Operator) -> tuple[str, ...]:
    """What is kept of an operator and of those below, for people.

    >>> from network_examples import grouped, source
    >>> kept_of(a.CountWindow(source("s"), 3))
    ('the latest 3 events of S', 'events of S for one instant')
    """
    own: tuple[str, ...] = ()
    if is_of_one_event(operator):
        return (_kept_of_one(operator),)
    match operator:
        case a.StreamSource(_, stream):
            own = (f"results of {stream.name} until they end",)
        case a.CountWindow(input, size, _, partition):
            streams = " and ".join(dict.fromkeys(one.name for one in _streams(input)))
            each = f" of each {', '.join(map(str, partition))}" if partition else ""
            own = (f"the latest {size} events of {streams}{each}",)
        case a.TimeWindow(_, size):
            own = (f"what is below for another {size}",)
        case a.PatternMatcher(_, _, clause):
            within = f", for {clause.within}" if clause.within is not None else ""
            own = (f"events of matches of {clause.pattern} under way{within}",)
        case a.TemporalMatcher(_, _, temporal):
            own = (f"events of matches of {temporal.text} under way, for {temporal.within}, and their ends",)
        case a.Coalesced():
            own = ("a row for each payload that is valid",)
    below = (one for input in a.inputs_of(operator) for one in kept_of(input))
    return tuple(dict.fromkeys((*own, *below)))


def _kept_of_one(operator: a.Operator) -> str:
    _, windows = without_windows(operator)
    (stream,) = (one for one in _streams(operator) if not one.is_relation)
    sizes = " and ".join(str(one.size) for one in windows)
    if stream.end is None:
        return f"events of {stream.name} for {sizes or 'one instant'}"
    return f"events of {stream.name} until they end{f', and {sizes} longer' if sizes else ''}"


def _streams(operator: a.Operator) -> list[Stream]:
    return [node.stream for node in walk(operator) if isinstance(node, a.StreamSource | a.RelationSource)]


# What Spark does: rows that each depend on one row.


def is_of_one_event(operator: a.Operator) -> bool:
    """Whether each row depends on one event of one stream, and on relations: then Spark computes it. The
    results of another query are in the same operator, where Spark has no part."""
    match operator:
        case a.StreamSource(_, stream):
            return stream.producer is None
        case a.Filter(input) | a.Projection(input) | a.TimeWindow(input):
            return is_of_one_event(input)
        case a.Correlator(inputs):
            streams = [one for one in inputs if not isinstance(one, a.RelationSource)]
            return len(streams) == 1 and is_of_one_event(streams[0])
    return False


def _core(root: a.Operator) -> a.Operator | None:
    """The first operator, from the root on, whose rows depend on several."""
    if is_of_one_event(root):
        return None
    match root:
        case a.Filter(input) | a.Projection(input) | a.TimeWindow(input):
            return _core(input)
        case a.Correlator(inputs):
            streams = [one for one in inputs if not isinstance(one, a.RelationSource)]
            if len(streams) == 1:
                return _core(streams[0])
    return root


def with_relations_first(operator: a.Operator) -> a.Operator:
    """The network in which a relation that is correlated with several streams is correlated with one of them
    first: it is valid forever, so the order does not matter."""

    def change(child: Node) -> Node:
        return with_relations_first(child) if isinstance(child, a.Operator) else child

    changed = map_children(operator, change)
    assert isinstance(changed, a.Operator)
    return _joined_first(changed) if isinstance(changed, a.Correlator) else changed


def _joined_first(correlator: a.Correlator) -> a.Correlator:
    inputs = list(correlator.inputs)
    waiting = list(conjuncts(correlator.condition))
    streams = [one for one in inputs if not isinstance(one, a.RelationSource)]
    if len(streams) < 2 or len(streams) == len(inputs):
        return correlator
    for relation in [one for one in inputs if isinstance(one, a.RelationSource)]:
        able = [one for one in inputs if is_of_one_event(one)]
        if not able:
            message = "a relation correlated with streams none of which is read as it is"
            raise UnsupportedStreaming(message, relation.span)
        partner = max(able, key=lambda one: len(_between(waiting, (one, relation))))
        ready = _between(waiting, (partner, relation))
        waiting = [one for one in waiting if one not in ready]
        pair = a.Correlator((partner, relation), conjoin(ready), span=correlator.span)
        inputs = [pair if one is partner else one for one in inputs if one is not relation]
    return replace(correlator, inputs=tuple(inputs), condition=conjoin(waiting))


def _between(conditions: Iterable[Expr], operators: Sequence[a.Operator]) -> list[Expr]:
    """The conditions that name attributes of these operators and of no others."""
    known = {place_of(one) for operator in operators for one in operator.payload}
    return [one for one in conditions if places_in(one) <= known]


def without_windows(operator: a.Operator) -> tuple[a.Operator, tuple[a.TimeWindow, ...]]:
    """An operator over one event without its windows of time, and these, the first one first. No payload
    depends on them, and the time of an event decides whether it is late: so the kernel applies them."""
    match operator:
        case a.TimeWindow(input):
            below, windows = without_windows(input)
            return below, (*windows, operator)
        case a.Filter(input) | a.Projection(input):
            below, windows = without_windows(input)
            return replace(operator, input=below), windows
        case a.Correlator(inputs):
            parts = [without_windows(one) for one in inputs]
            windows = tuple(window for _, several in parts for window in several)
            return replace(operator, inputs=tuple(below for below, _ in parts)), windows
    return operator, ()


# What the kernel does.

Rows = tuple[p.SnapshotOperator, tuple[str, ...]]
"""An operator of the kernel, and its columns for some expressions."""


@dataclass
class _Builder:
    """Makes a network of the kernel, and collects its inputs."""

    unit: str
    orders: JoinOrders
    inputs: list[StreamedInput] = field(default_factory=list)
    taken: set[str] = field(default_factory=lambda: {"start", "end", p.SOURCE, "bucket"})

    def rows(self, operator: a.Operator, wanted: Sequence[Expr]) -> Rows:
        """The rows of an operator, with the values of expressions over its payload."""
        if is_of_one_event(operator):
            return self._input(operator, wanted)
        match operator:
            case a.StreamSource():
                attributes = _used(operator, wanted)
                node, names = self._input(operator, attributes)
                return self._computed(node, _named(attributes, names), wanted)
            case a.Projection(input, _, outputs):
                values = {
                    place_of(one): output.expression
                    for one, output in zip(operator.payload, outputs, strict=True)
                }
                return self.rows(input, [substituted(one, values) for one in wanted])
            case a.Filter(input, condition):
                return self._filter(input, (condition,), wanted)
            case a.TimeWindow(input):
                node, names = self.rows(input, wanted)
                return self._window(operator, node), names
            case a.CountWindow(input, size, jump, partition):
                node, names = self.rows(input, (*wanted, *partition))
                keys = tuple(dict.fromkeys(names[len(wanted) :]))
                return p.SnapshotCountWindow(node, size, jump, keys), names[: len(wanted)]
            case a.Aggregator():
                return self._aggregated(operator, wanted)
            case a.Coalesced(input):
                node, names = self.rows(input, operator.payload)
                node = p.SnapshotCoalescing(node, p.CoalesceProgram(tuple(dict.fromkeys(names))))
                return self._computed(node, _named(operator.payload, names), wanted)
            case a.PatternMatcher() | a.TemporalMatcher():
                return self._matched(operator, wanted)
            case a.Merger(inputs):
                return self._merged(inputs, wanted)
            case a.Correlator(inputs, condition):
                if len(inputs) == 1:
                    return self._filter(inputs[0], conjuncts(condition), wanted)
                return self._correlated(operator, wanted)
        raise UnsupportedStreaming(_what(operator), operator.span)

    def _input(self, operator: a.Operator, wanted: Sequence[Expr]) -> Rows:
        below, windows = without_windows(operator)
        names: dict[Expr, str] = {}
        for one in wanted:
            if one not in names:
                names[one] = self._free(bare(one.name) if isinstance(one, Attribute) else "value")
        node: p.SnapshotOperator = p.SnapshotInput(len(self.inputs), tuple(names.values()))
        self.inputs.append(StreamedInput(below, tuple(names.items())))
        for window in windows:
            node = self._window(window, node)
        return node, tuple(names[one] for one in wanted)

    def _window(self, window: a.TimeWindow, node: p.SnapshotOperator) -> p.SnapshotOperator:
        size, _ = width_of(window.size, self.unit)
        longer = size - a.instant(window.clock) // LENGTHS[self.unit]
        jump = None if window.jump is None else width_of(window.jump, self.unit)[0]
        return p.SnapshotTimeWindow(node, longer, jump)

    def _filter(self, input: a.Operator, conditions: Sequence[Expr], wanted: Sequence[Expr]) -> Rows:
        attributes = _used(input, (*conditions, *wanted))
        node, names = self.rows(input, attributes)
        columns = _named(attributes, names)
        condition = conjoin(conditions)
        if condition is not None:
            node = p.SnapshotFilter(node, self._value(condition, columns))
        return self._computed(node, columns, wanted)

    # Aggregators.

    def aggregation(
        self, operator: a.Aggregator
    ) -> tuple[p.SnapshotAggregation, AggregatorPlan, dict[Expr, str]]:
        """The aggregates, and the columns of the groups. Names of results are not those of columns."""
        plan = aggregator_plan(operator)
        groups = list(dict.fromkeys(one.expression for one in operator.groups))
        node, names = self.rows(operator.input, (*groups, *plan.arguments))
        columns = dict(zip(plan.arguments.values(), names[len(groups) :], strict=True))
        folded = {
            one: replace(
                fold,
                column=None if fold.column is None else columns[fold.column],
                name=self._free(fold.name),
            )
            for one, fold in plan.folded.items()
        }
        keys = names[: len(groups)]
        program = p.SnapshotProgram(tuple(dict.fromkeys(keys)), tuple(folded.values()))
        by_group = dict(zip(groups, keys, strict=True))
        return p.SnapshotAggregation(node, program), AggregatorPlan(plan.arguments, folded), by_group

    def _aggregated(self, operator: a.Aggregator, wanted: Sequence[Expr]) -> Rows:
        node, plan, groups = self.aggregation(operator)
        for one, fold in plan.folded.items():
            if fold.function == p.LIST:
                message = f"`{one}`, a function of a user, where other operators read what it gives"
                raise UnsupportedStreaming(message, one.span)
        columns = {
            ("", name): name for name in (*groups.values(), *(one.name for one in plan.folded.values()))
        }
        made: dict[Place, Expr] = {}
        outputs = (*operator.groups, *operator.aggregates)
        for attribute, output in zip(operator.payload, outputs, strict=True):
            made[place_of(attribute)] = _of_results(output, plan, groups)
        return self._computed(node, columns, [substituted(one, made) for one in wanted])

    # Several streams as one.

    def _merged(self, inputs: Sequence[a.Operator], wanted: Sequence[Expr]) -> Rows:
        different = tuple(dict.fromkeys(wanted))
        names = {
            one: self._free(bare(one.name) if isinstance(one, Attribute) else "value") for one in different
        }
        sides: list[p.SnapshotOperator] = []
        for input in inputs:
            node, own = self.rows(input, different)
            computed = (
                p.ComputedColumn(names[one], ColumnValue("", name), str(type_of(one)))
                for one, name in zip(different, own, strict=True)
            )
            sides.append(p.SnapshotProjection(node, tuple(computed)))
        merged = sides[0]
        for side in sides[1:]:
            merged = p.SnapshotMerging(merged, side)
        return merged, tuple(names[one] for one in wanted)

    # Pattern matchers.

    def _matched(self, operator: a.PatternMatcher | a.TemporalMatcher, wanted: Sequence[Expr]) -> Rows:
        plan: SequentialPlan | TemporalPlan
        if isinstance(operator, a.TemporalMatcher):
            plan = temporal_plan(operator.clause, self.unit)
            program: SequentialProgram | TemporalProgram = streamed_temporal(plan)
        else:
            plan = sequential_plan(operator.clause, self.unit)
            program = streamed_sequential(plan)
        own = {bare(one.name): one for one in operator.input.payload}
        for column in plan.columns:
            if column.form == NUMBER:
                name = str(column.expression).removeprefix(".")
                message = f"`{name}`, a time, in a condition on several events"
                raise UnsupportedStreaming(message, operator.span)
        read = [_of_payload(column.expression, own) for column in plan.columns]
        tests = [conjoin(_of_payload(one, own) for one in conjuncts) for conjuncts in plan.bits]
        node, names = self.rows(operator.input, (*read, *(one for one in tests if one is not None)))
        emitted = iter(names[len(read) :])
        taken: tuple[SymbolOutput | TemporalOutput, ...] = program.outputs
        outputs = tuple(self._free(one.name) for one in taken)
        by_output = {one.name: name for one, name in zip(taken, outputs, strict=True)}
        lists = _lists(plan, by_output, self._free) if isinstance(plan, TemporalPlan) else {}
        matching = p.SnapshotMatching(
            node,
            program,
            tuple(zip(names, (column.name for column in plan.columns), strict=False)),
            tuple(None if one is None else next(emitted) for one in tests),
            outputs,
            a.instant(operator.clock) // LENGTHS[self.unit],
            tuple(lists.values()),
        )
        values: dict[Expr, str] = {
            one: lists[one].name if isinstance(one, OverRows) else by_output[name]
            for one, name in plan.outputs.items()
        }
        made = {
            place_of(attribute): _of_match(measure.expression, values)
            for attribute, measure in zip(operator.payload, operator.clause.measures, strict=True)
        }
        columns = {("", name): name for name in values.values()}
        return self._computed(matching, columns, [substituted(one, made) for one in wanted])

    # Correlators, as joins of two.

    def _correlated(self, operator: a.Correlator, wanted: Sequence[Expr]) -> Rows:
        if any(isinstance(one, a.RelationSource) for one in operator.inputs):
            message = "a relation correlated with what other operators give, where others read the result"
            raise UnsupportedStreaming(message, operator.span)
        places = self.orders.get(operator, tuple(range(len(operator.inputs))))
        waiting = list(conjuncts(operator.condition))
        whole = (*wanted, *waiting)
        sides = [self._side(operator.inputs[place], whole) for place in places]
        joined, *others = sides
        for other in others:
            joined, waiting = self._join(joined, other, waiting)
        node = joined.node
        if waiting:
            condition = conjoin(waiting)
            assert condition is not None
            node = p.SnapshotFilter(node, self._value(condition, joined.columns))
        return self._computed(node, joined.columns, wanted)

    def _side(self, operator: a.Operator, whole: Sequence[Expr]) -> _Side:
        """An input of a correlator, with columns for attributes, and for what is compared with others."""
        known = {place_of(one) for one in operator.payload}
        attributes = _used(operator, whole)
        compared = [
            side
            for one in whole
            if isinstance(one, Binary) and one.op == "="
            for side in (one.left, one.right)
            if places_in(side) and places_in(side) <= known and not isinstance(side, Attribute)
        ]
        compared = list(dict.fromkeys(compared))
        node, names = self.rows(operator, (*attributes, *compared))
        columns = _named(attributes, names[: len(attributes)])
        computed = dict(zip(compared, names[len(attributes) :], strict=True))
        return _Side(node, columns, {**{one: columns[place_of(one)] for one in attributes}, **computed})

    def _join(self, left: _Side, right: _Side, waiting: Sequence[Expr]) -> tuple[_Side, list[Expr]]:
        both = {**left.columns, **right.columns}
        ready = [one for one in waiting if places_in(one) <= set(both)]
        equal: list[tuple[str, str]] = []
        rest: list[Expr] = []
        for one in ready:
            pair = _compared(one, left, right)
            if pair is None:
                rest.append(one)
            else:
                equal.append(pair)
        condition = conjoin(rest)
        value = None if condition is None else self._value(condition, both)
        node = p.SnapshotCorrelation(left.node, right.node, tuple(equal), value)
        side = _Side(node, both, {**left.values, **right.values})
        return side, [one for one in waiting if one not in ready]

    # Expressions.

    def _computed(
        self, node: p.SnapshotOperator, columns: Mapping[Place, str], wanted: Sequence[Expr]
    ) -> Rows:
        """The rows of an operator, with the values of expressions over its columns."""
        values = {one: self._value(one, columns) for one in wanted}
        if all(isinstance(one, ColumnValue) for one in values.values()):
            return node, tuple(
                one.name for one in map(values.__getitem__, wanted) if isinstance(one, ColumnValue)
            )
        names = {one: self._free("value") for one in values}
        computed = [p.ComputedColumn(names[one], value, str(type_of(one))) for one, value in values.items()]
        for one, value in values.items():
            if not isinstance(value, ColumnValue):
                _check_type(one)
        return p.SnapshotProjection(node, tuple(computed)), tuple(names[one] for one in wanted)

    def _value(self, expression: Expr, columns: Mapping[Place, str]) -> Value:
        for node in walk(expression):
            if isinstance(node, Call) and (node.function is not None or node.name not in SCALAR_SIGNATURES):
                message = f"`{node}` over what other operators give: only Spark has this function"
                raise UnsupportedStreaming(message, node.span)
        if is_zoned(expression):
            message = f"`{expression}` over what other operators give: it depends on the session's time zone"
            raise UnsupportedStreaming(message, expression.span)
        return _renamed(expression_to_value(expression), columns)

    def _free(self, wish: str) -> str:
        wish = wish if PLAIN_NAME.match(wish) else "value"
        name, number = wish, 1
        while name.lower() in self.taken:
            number += 1
            name = f"{wish}_{number}"
        self.taken.add(name.lower())
        return name


@dataclass(frozen=True)
class _Side:
    """One side of a join: its columns by attributes, and those of all that is compared."""

    node: p.SnapshotOperator
    columns: Mapping[Place, str]
    values: Mapping[Expr, str]


def _compared(condition: Expr, left: _Side, right: _Side) -> tuple[str, str] | None:
    """The columns of both sides that are equal, if the condition is that and nothing else."""
    if not isinstance(condition, Binary) or condition.op != "=":
        return None
    one, other = condition.left, condition.right
    if one not in left.values or other not in right.values:
        one, other = other, one
    if one not in left.values or other not in right.values or type_of(one) != type_of(other):
        return None
    return left.values[one], right.values[other]


def _used(operator: a.Operator, expressions: Iterable[Expr]) -> tuple[Attribute, ...]:
    named = {place for one in expressions for place in places_in(one)}
    return tuple(one for one in operator.payload if place_of(one) in named)


def _named(attributes: Sequence[Attribute], names: Sequence[str]) -> dict[Place, str]:
    return {place_of(one): name for one, name in zip(attributes, names, strict=True)}


def _of_results(output: OutputColumn, plan: AggregatorPlan, groups: Mapping[Expr, str]) -> Expr:
    """What an aggregator gives, as an expression over the columns of groups and aggregates."""

    def change(node: Node) -> Node:
        if isinstance(node, Aggregate) and node in plan.folded:
            assert node.type is not None, "a bound aggregate has a type"
            return Attribute(Variable(""), written(plan.folded[node].name), node.type)
        if isinstance(node, Expr) and node in groups:
            return Attribute(Variable(""), written(groups[node]), type_of(node))
        return map_children(node, change)

    changed = change(output.expression)
    assert isinstance(changed, Expr)
    return changed


def _of_payload(expression: Expr, own: Mapping[str, Attribute]) -> Expr:
    """An expression over one row, which names columns, over a payload that has these."""

    def change(node: Node) -> Node:
        return own[bare(node.name)] if isinstance(node, Attribute) else map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


def _lists(
    plan: TemporalPlan, names: Mapping[str, str], free: Callable[[str], str]
) -> dict[OverRows, ListColumn]:
    """The aggregates over intervals, of lists in the columns `names` by outputs."""
    found: dict[OverRows, ListColumn] = {}
    for node, output in plan.outputs.items():
        if isinstance(node, OverRows):
            name, elements = free("aggregate"), ColumnValue("", names[output])
            type = value_type(node.type)
            found[node] = ListColumn(name, elements, ELEMENT, type, node.name, node.distinct)
    return found


_READERS: Mapping[type[a.Operator], str] = {
    a.Aggregator: "an aggregate",
    a.Coalesced: "an aggregate",
    a.Correlator: "a join",
    a.CountWindow: "a window",
    a.TimeWindow: "a window",
    a.Merger: "UNION or another pattern",
    a.PatternMatcher: "another pattern",
    a.TemporalMatcher: "another pattern",
}


def _check_readers(root: a.Operator) -> None:
    """Matches of temporal patterns may come long after they were decided: what reads them in the order of
    time would be too late."""
    for node in walk(root):
        if not isinstance(node, a.Operator) or isinstance(node, a.Filter | a.Projection):
            continue
        below = a.inputs_of(node)
        if isinstance(node, a.Correlator):
            streams = [one for one in below if not isinstance(one, a.RelationSource)]
            if len(streams) == 1:
                continue
        if any(isinstance(inner, a.TemporalMatcher) for one in below for inner in walk(one)):
            reader = _READERS.get(type(node), "another operator")
            message = f"matches of MATCH_RECOGNIZE_TEMPORAL, read by {reader}, over a stream without end"
            raise UnsupportedStreaming(message, node.span or root.span)


def _of_match(measure: Expr, values: Mapping[Expr, str]) -> Expr:
    """A measure, as an expression over the columns of matches."""

    def change(node: Node) -> Node:
        if isinstance(node, AtRow | OverRows):
            return Attribute(Variable(""), written(values[without_spans(node)]), type_of(node))
        return map_children(node, change)

    changed = change(measure)
    assert isinstance(changed, Expr)
    return changed


def _renamed(value: Value, columns: Mapping[Place, str]) -> Value:
    match value:
        case ColumnValue(variable, name):
            assert isinstance(variable, str)
            return ColumnValue("", columns[variable, name])
        case Apply(_, operands):
            return replace(value, operands=tuple(_renamed(one, columns) for one in operands))
    return value


def _check_type(expression: Expr) -> None:
    type: DataType = type_of(expression)
    if type not in COMPUTED and not isinstance(type, Decimal):
        message = f"`{expression}` of type {type} over what other operators give"
        raise UnsupportedStreaming(message, expression.span)


def _what(operator: a.Operator) -> str:
    match operator:
        case a.Agent(_, _, name):
            return f"the agent {name} over a stream without end: it is a function of whole DataFrames"
        case a.RelationSource():
            return "a relation alone over a stream without end"
    return f"{type(operator).__name__} over a stream without end"


# How long rows are valid, and how long before the watermark those begin that have yet to be emitted.


@dataclass(frozen=True)
class RowBounds:
    """No row is valid longer than `length`; those that have not been emitted when the watermark is w start
    after w - `delay`. Either may be infinite."""

    length: float
    delay: float


def row_bounds(node: p.SnapshotOperator, lengths: Mapping[int, float]) -> RowBounds:
    """The bounds of an operator's rows; `lengths` are those of its inputs. A row is emitted when the
    watermark reaches its end, at the latest.

    >>> rows = p.SnapshotTimeWindow(p.SnapshotInput(0, ("x",)), 4)
    >>> row_bounds(rows, {0: 1})
    RowBounds(length=5, delay=0)
    >>> row_bounds(p.SnapshotAggregation(rows, p.SnapshotProgram((), ())), {0: 1})
    RowBounds(length=5, delay=5)
    >>> row_bounds(p.SnapshotCoalescing(rows, p.CoalesceProgram(("x",))), {0: 1})
    RowBounds(length=inf, delay=inf)
    """
    below = [row_bounds(one, lengths) for one in node.inputs]
    match node:
        case p.SnapshotInput(number):
            return RowBounds(lengths[number], 0)
        case p.SnapshotFilter() | p.SnapshotProjection():
            return below[0]
        case p.SnapshotTimeWindow(_, longer, jump):
            return RowBounds(below[0].length + longer + (jump or 0), below[0].delay)
        case p.SnapshotMerging():
            return RowBounds(max(one.length for one in below), max(one.delay for one in below))
        case p.SnapshotCorrelation():
            shorter = min(one.length for one in below)
            return RowBounds(shorter, min(shorter, max(one.delay for one in below)))
        case p.SnapshotAggregation():
            # In a stretch of time the same rows are valid: it is no longer than they are.
            return RowBounds(below[0].length, below[0].length)
        case p.SnapshotMatching(program=TemporalProgram(), lasting=lasting):
            return RowBounds(lasting, inf)  # an end that is told may come at any time
        case p.SnapshotMatching(lasting=lasting):
            return RowBounds(lasting, lasting)
    # Equal payloads follow each other, and events stay until others come.
    return RowBounds(inf, inf)


# Queries that are read.


def with_queries(operator: a.Operator, queries: Mapping[str, a.Algebra]) -> a.Operator:
    """The network with the networks of the queries that it reads in their place: one SELECT instead of
    several. `queries` are themselves without others."""
    name = operator.stream.query if isinstance(operator, a.StreamSource) else None
    if isinstance(operator, a.StreamSource) and name is not None and name in queries:
        query = queries[name]
        if query.clock != operator.clock:
            message = f"the result of {name}, whose times are of another kind,"
            raise UnsupportedStreaming(message, operator.span)
        outputs = (
            OutputColumn(column.name, one, column.type)
            for column, one in zip(operator.stream.columns, query.root.payload, strict=True)
        )
        return a.Projection(query.root, operator.variable, tuple(outputs))

    def change(child: Node) -> Node:
        return with_queries(child, queries) if isinstance(child, a.Operator) else child

    changed = map_children(operator, change)
    assert isinstance(changed, a.Operator)
    return changed


def with_selects_inlined(program: Program) -> Program:
    """The program in which no SELECT reads another one: each has the networks of those that it reads."""
    done: dict[str, a.Algebra] = {}
    queries = []
    for named in program.queries:
        query = named.query
        if isinstance(query, a.Algebra):
            query = replace(query, root=with_queries(query.root, done))
            if named.name is not None:
                done[named.name] = query
        queries.append(replace(named, query=query))
    return replace(program, queries=tuple(queries))


# Buckets: events that meet in one operator are in one bucket.

MOST_KEYS = 4


@dataclass(frozen=True)
class MeetingKey:
    """A column of each input, and the columns of an operator that have its value in all rows."""

    inputs: Mapping[int, str]
    carried: frozenset[str]


def bucket_keys(root: p.SnapshotOperator) -> dict[int, tuple[str, ...]]:
    """For each input the columns by whose values rows can be spread over buckets; nothing if they cannot.

    >>> rows = p.SnapshotInput(0, ("room", "ward", "x"))
    >>> sums = p.SnapshotProgram(("ward", "room"), ())
    >>> bucket_keys(p.SnapshotAggregation(rows, sums))
    {0: ('room', 'ward')}
    >>> bucket_keys(p.SnapshotCountWindow(p.SnapshotAggregation(rows, sums), 3))
    {}
    """
    found: dict[int, tuple[str, ...]] = {}
    for key in list(meeting_keys(root))[:MOST_KEYS]:
        for number, column in key.inputs.items():
            found[number] = (*found.get(number, ()), column)
    return found


def meeting_keys(node: p.SnapshotOperator) -> Iterator[MeetingKey]:
    """Any of these keys does: rows that meet, in this operator or below, have equal values."""
    match node:
        case p.SnapshotInput(number, columns):
            yield from (MeetingKey({number: name}, frozenset([name])) for name in columns)
        case p.SnapshotFilter(input) | p.SnapshotTimeWindow(input):
            yield from meeting_keys(input)
        case p.SnapshotProjection(input, columns):
            for key in meeting_keys(input):
                kept = (
                    one.name
                    for one in columns
                    if isinstance(one.value, ColumnValue) and one.value.name in key.carried
                )
                yield replace(key, carried=frozenset(kept))
        case p.SnapshotCountWindow(input, keys=keys):
            yield from (key for key in meeting_keys(input) if key.carried & set(keys))
        case p.SnapshotAggregation(input, program) | p.SnapshotCoalescing(input, program):
            for key in meeting_keys(input):
                if kept_keys := key.carried & set(program.keys):
                    yield replace(key, carried=kept_keys)
        case p.SnapshotMatching(input, program, columns, _, outputs):
            names = {own for own, name in columns if name in program.keys}
            for key in meeting_keys(input):
                if key.carried & names:
                    read = {name for own, name in columns if own in key.carried & names}
                    taken: tuple[SymbolOutput | TemporalOutput, ...] = program.outputs
                    shown = zip(taken, outputs, strict=True)
                    yield replace(key, carried=frozenset(name for one, name in shown if one.column in read))
        case p.SnapshotMerging(left, right):
            for one, other in product(meeting_keys(left), meeting_keys(right)):
                if both := one.carried & other.carried:
                    yield MeetingKey({**one.inputs, **other.inputs}, both)
        case p.SnapshotCorrelation(left, right, equal):
            yield from _of_both(list(meeting_keys(left)), list(meeting_keys(right)), equal)


def _of_both(
    left: list[MeetingKey], right: list[MeetingKey], equal: Sequence[tuple[str, str]]
) -> Iterator[MeetingKey]:
    seen = set()
    for (one, other), first, second in product(equal, left, right):
        if one in first.carried and other in second.carried:
            inputs = {**first.inputs, **second.inputs}
            if (known := tuple(inputs.items())) not in seen:
                seen.add(known)
                yield MeetingKey(inputs, first.carried | second.carried)
