"""The operators of a SELECT as a plan: what each does, and how many events of it are valid at an instant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neelc.cost.algebra_sizes import valid_events
from neelc.cost.statistics import Statistics
from neelc.explain.explanation import PlanNode
from neelc.ir import algebra as a
from neelc.ir.conjuncts import conjuncts
from neelc.ir.expr import Expr
from neelc.ir.logical import OutputColumn
from neelc.ir.names import written

Detail = tuple[str, str]

_KINDS: dict[type[a.Operator], str] = {
    a.Source: "scan",
    a.Relation: "scan",
    a.Aggregator: "aggregate",
    a.Coalesced: "aggregate",
    a.Projection: "project",
    a.TimeWindow: "sort",
    a.CountWindow: "sort",
    a.Agent: "shuffle",
}
"""The kinds of a plan stand for colours; what is none of these is a match: of one event, or of several."""


def plan_node(operator: a.Operator, statistics: Statistics) -> PlanNode:
    """An operator with its inputs.

    >>> from neelc.rewrite.algebra.examples import grouped, over
    >>> found = plan_node(over(grouped("max(s.y)", "s.x"), "g.value > 1 AND g.x = 2"), Statistics())
    >>> found.title, found.details
    ('filter', (('where', 'g.value > 1'), ('where', 'g.x = 2')))
    >>> found.inputs[0].title, found.inputs[0].details
    ('aggregate g', (('by', 'x = s.x'), ('value', 'max(s.y)')))
    """
    return PlanNode(
        _KINDS.get(type(operator), "match"),
        _title(operator),
        tuple(_details(operator)),
        valid_events(operator, statistics),
        tuple(plan_node(one, statistics) for one in a.inputs_of(operator)),
    )


def _title(operator: a.Operator) -> str:
    match operator:
        case a.Source(_, stream):
            return f"{'query' if stream.query else 'stream'} {written(stream.name)}"
        case a.Relation(_, stream):
            return f"relation {written(stream.name)}"
        case a.TimeWindow(_, size, jump):
            return f"window of {size}" + (f", jumps of {jump}" if jump else "")
        case a.CountWindow(_, size, jump):
            return f"window of {size} EVENT{'' if size == 1 else 'S'}" + (
                f", jumps of {jump}" if jump > 1 else ""
            )
        case a.Filter():
            return "filter"
        case a.Correlator():
            return "correlate"
        case a.Aggregator(_, variable):
            return f"aggregate {variable}"
        case a.Projection(_, variable):
            return f"select {variable}"
        case a.Coalesced():
            return "canonical intervals"
        case a.PatternMatcher(_, variable):
            return f"match {variable}"
        case a.Agent(_, _, name):
            return f"agent {name}"
    raise AssertionError(f"{type(operator).__name__} has no title")


def _details(operator: a.Operator) -> Iterator[Detail]:
    match operator:
        case a.Source(variable, stream) | a.Relation(variable, stream):
            if variable != written(stream.name):
                yield "as", variable
        case a.CountWindow(partition=partition) if partition:
            yield "by", ", ".join(map(str, partition))
        case a.Filter(_, condition):
            yield from _conditions("where", condition)
        case a.Correlator(_, condition):
            yield from _conditions("on", condition)
        case a.Aggregator(_, _, groups, aggregates):
            yield from (("by", _output(one)) for one in groups)
            yield from _outputs(aggregates)
        case a.Projection(_, _, outputs):
            yield from _outputs(outputs)
        case a.PatternMatcher():
            yield from _matcher(operator)
        case a.Agent(_, variable, _, columns):
            yield "as", f"{variable} ({', '.join(f'{written(one.name)} {one.type}' for one in columns)})"


def _conditions(label: str, condition: Expr | None) -> Iterator[Detail]:
    yield from ((label, str(one)) for one in conjuncts(condition))


def _output(output: OutputColumn) -> str:
    value, name = str(output.expression), written(output.name)
    return value if value == name else f"{name} = {value}"


def _outputs(outputs: Iterable[OutputColumn]) -> Iterator[Detail]:
    for one in outputs:
        # A column that has no name of its own is called like its text: it is not said twice.
        value = str(one.expression)
        yield "value" if one.name == value else written(one.name), value


def _matcher(operator: a.PatternMatcher) -> Iterator[Detail]:
    clause = operator.clause
    yield "pattern", str(clause.pattern)
    yield from (("define", f"{one.variable} AS {one.condition}") for one in clause.definitions)
    if clause.within is not None:
        yield "within", str(clause.within)
    if clause.partition:
        yield "by", ", ".join(map(written, clause.partition))
    yield from (("measures", _output(one)) for one in clause.measures)
