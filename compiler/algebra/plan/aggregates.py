"""Aggregates of an aggregator as the kernel's, where it has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from neelc.algebra.cost.sizes import arrivals, distinct, share
from neelc.algebra.plan.sequential import sequential_plan
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import row_patterns as r
from neelc.ir.algebra import Aggregator, PatternMatcher
from neelc.ir.expressions import ROW, Aggregate, Expr, conjoin
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LENGTHS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    Decimal,
)
from neelc.pattern.plan.blocks import UnsupportedQuery, renamed
from neelc.pattern.plan.columns import width_of
from neelc.runtime.kernels.snapshots.program import DISTINCT, LIST, SnapshotAggregate
from neelc.scalar.type_of import type_of

NUMBERS = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)
ORDERED = (*NUMBERS, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ)

_NAMES = {"stddev": "stddev_samp", "mean": "avg", "variance": "var_samp"}
_KNOWN = ("count", "sum", "avg", "min", "max", "stddev_samp", "stddev_pop", "var_samp", "var_pop")


def folded_of(node: Aggregate, column: str | None, name: str) -> SnapshotAggregate:
    """The aggregate for the kernel; raises `UnsupportedQuery`.

    >>> from neelc.ir.expressions import Attribute, Variable
    >>> folded_of(Aggregate("stddev", Attribute(Variable("s"), "x", DOUBLE), DOUBLE), "value_1", "result_1")
    SnapshotAggregate(function='stddev_samp', column='value_1', name='result_1', decimal=None)
    """
    function = _NAMES.get(node.name.lower(), node.name.lower())
    if node.function is not None and not node.distinct and column is not None:
        return SnapshotAggregate(LIST, column, name)
    if node.distinct and function == "count":
        function = DISTINCT
    elif node.distinct or node.function is not None or function not in _KNOWN:
        raise UnsupportedQuery(f"`{node}` over snapshots", node.span)
    if node.argument is not None and not _fits(function, type_of(node.argument)):
        raise UnsupportedQuery(f"`{node}` over snapshots, of {type_of(node.argument)},", node.span)
    decimal = (node.type.precision, node.type.scale) if isinstance(node.type, Decimal) else None
    return SnapshotAggregate(function, column, name, decimal if function in ("sum", "avg") else None)


def _fits(function: str, type: DataType) -> bool:
    if function == "count":
        return True
    if function in ("min", "max", DISTINCT):
        return type in ORDERED or isinstance(type, Decimal)
    return type in NUMBERS or isinstance(type, Decimal)


def result_type(node: object) -> DataType:
    assert isinstance(node, Aggregate) and node.type is not None, "a bound aggregate has a type"
    return node.type


@dataclass(frozen=True)
class AggregatorPlan:
    """What the kernel computes of a group: the columns of the `arguments`, and the aggregates over them by
    their expressions."""

    arguments: Mapping[Expr, str]
    folded: Mapping[Expr, SnapshotAggregate]


def aggregator_plan(aggregator: Aggregator) -> AggregatorPlan:
    """The aggregates of an aggregator, each once; raises `UnsupportedQuery`."""
    arguments: dict[Expr, str] = {}
    folded: dict[Expr, SnapshotAggregate] = {}
    for output in aggregator.aggregates:
        for node in walk(output.expression):
            if isinstance(node, Aggregate) and node not in folded:
                column = None
                if node.argument is not None:
                    column = arguments.setdefault(node.argument, f"value_{len(arguments) + 1}")
                folded[node] = folded_of(node, column, f"result_{len(folded) + 1}")
    return AggregatorPlan(arguments, folded)


# The pivot of a pattern matcher: the symbol that an extended filter looks for (JEPC thesis, 19.2.4).

BUCKETS = 3
"""What is kept around a pivot: its own bucket of one window, and both neighbours."""

MOST_KEPT = 0.1
"""The share of events that may be left, for the filter to pay: it reads the stream twice (bench_algebra). The
thesis' own pays up to 0.3."""


@dataclass(frozen=True)
class Pivot:
    """Every match has an event that meets all of `conditions`, which call it ROW; `reach` is the most that
    the times of a match differ; `share` of the events are expected to meet them."""

    symbol: str
    conditions: tuple[Expr, ...]
    reach: int
    share: float


def pivot_of(operators: Sequence[PatternMatcher], unit: str, statistics: Statistics) -> Pivot | None:
    """What the fewest events emit of what is emitted in every match of all these matchers, which read the
    same events; None where there is no such symbol, or where it does not pay to look for it."""
    first, *others = (pivots_of(one, unit, statistics) for one in operators)
    both = [one for one in first if all(any(_is_same(one, other) for other in more) for more in others)]
    best = min(both, key=lambda one: one.share, default=None)
    if best is None:
        return None
    # As far as the matches of any of them reach.
    widest = replace(best, reach=max(one.reach for several in (first, *others) for one in several))
    return widest if kept(widest, operators[0], unit, statistics) <= MOST_KEPT else None


def _is_same(one: Pivot, other: Pivot) -> bool:
    return set(one.conditions) == set(other.conditions)


def pivots_of(operator: PatternMatcher, unit: str, statistics: Statistics) -> list[Pivot]:
    """The symbols of every match, each with what an event must meet to emit it.

    A symbol that a match can do without says nothing, and neither does a condition that depends on other
    events. Without a window of time nobody knows how far a match reaches.
    """
    within = operator.clause.within
    if within is None or within.unit == "EVENT":
        return []
    reach, _ = width_of(within, unit)
    plan = sequential_plan(operator.clause, unit)
    variable = next((str(one.event) for one in operator.input.payload), ROW)
    pivots = []
    for symbol in sorted(in_every_match(operator.clause.pattern)):
        conditions = plan.bits[plan.program.names.index(symbol)]
        condition = conjoin(renamed(one, ROW, variable) for one in conditions)
        if condition is not None:
            met = share(condition, operator.input, statistics)
            pivots.append(Pivot(symbol, conditions, max(1, reach), met))
    return pivots


def kept(pivot: Pivot, operator: PatternMatcher, unit: str, statistics: Statistics) -> float:
    """The share of events that are expected to be near a pivot of their partition."""
    attributes = {bare(one.name): one for one in operator.input.payload}
    keys = [attributes[name] for name in operator.clause.partition]
    partitions = prod(distinct(operator.input, one, statistics) for one in keys)
    seconds = BUCKETS * pivot.reach * LENGTHS[unit] / LENGTHS["SECOND"]
    near = seconds * arrivals(operator.input, statistics) / partitions
    return min(1.0, pivot.share * max(1.0, near))


def in_every_match(pattern: r.RowPattern) -> frozenset[str]:
    """The symbols that no match can do without.

    >>> a, b, c = map(r.RowVariable, "ABC")
    >>> sorted(in_every_match(r.RowSequence((a, r.RowRepeat(b, 0, None), r.RowAlternation((a, c))))))
    ['A']
    """
    match pattern:
        case r.RowVariable(name):
            return frozenset([name])
        case r.RowSequence(parts):
            return frozenset().union(*map(in_every_match, parts))
        case r.RowAlternation(parts):
            return frozenset.intersection(*map(in_every_match, parts))
        case r.RowRepeat(part, least) if least > 0:
            return in_every_match(part)
    return frozenset()
