"""Aggregates of an aggregator as the kernel's, where it has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from neelc.algebra.cost.sizes import arrivals, distinct, share
from neelc.algebra.plan.sequential import sequential_plan
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import row_patterns as r
from neelc.ir.algebra import Aggregator, Operator, PatternMatcher
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
    """Every match has an event that meets all of `conditions`, which call it ROW; `share` of the events are
    expected to."""

    symbol: str
    conditions: tuple[Expr, ...]
    share: float

    @property
    def definition(self) -> frozenset[Expr]:
        """What an event must meet, in no order."""
        return frozenset(self.conditions)


@dataclass(frozen=True)
class ExtendedFilter:
    """What is read by these matchers, which may be several: events near a pivot.

    `pivots` are emitted in every match of all of them, and the rarest comes first. The times of a match
    differ by at most `reach` units, and `rate` events of one partition come in a unit of time.
    """

    matchers: tuple[PatternMatcher, ...]
    pivots: tuple[Pivot, ...]
    unit: str
    reach: int
    rate: float

    @property
    def reads(self) -> tuple[Operator, tuple[str, ...], str]:
        """What it depends on, besides the symbols of its matchers: the events, their partitions and times."""
        return self.matchers[0].input, self.matchers[0].clause.partition, self.unit

    @property
    def pivot(self) -> Pivot:
        return self.pivots[0]

    @property
    def kept(self) -> float:
        """The share of events that are expected to be near a pivot of their partition."""
        return min(1.0, self.pivot.share * max(1.0, BUCKETS * self.reach * self.rate))

    @property
    def pays(self) -> bool:
        return bool(self.pivots) and self.kept <= MOST_KEPT


def extended_filter(operator: PatternMatcher, unit: str, statistics: Statistics) -> ExtendedFilter | None:
    """What a matcher reads few events by; None if it has no symbol that every match has, or if it does not
    pay to look for it. Without a window of time nobody knows how far a match reaches."""
    within = operator.clause.within
    if within is None or within.unit == "EVENT":
        return None
    reach, _ = width_of(within, unit)
    pivots = sorted(_pivots(operator, unit, statistics), key=lambda one: one.share)
    rate = _rate(operator, unit, statistics)
    found = ExtendedFilter((operator,), tuple(pivots), unit, max(1, reach), rate)
    return found if found.pays else None


def _pivots(operator: PatternMatcher, unit: str, statistics: Statistics) -> Iterator[Pivot]:
    """The symbols of every match, each with what an event must meet to emit it. A symbol that a match can do
    without says nothing, and neither does a condition that depends on other events."""
    plan = sequential_plan(operator.clause, unit)
    variable = next((str(one.event) for one in operator.input.payload), ROW)
    for symbol in sorted(in_every_match(operator.clause.pattern)):
        conditions = plan.bits[plan.program.names.index(symbol)]
        condition = conjoin(renamed(one, ROW, variable) for one in conditions)
        if condition is not None:
            yield Pivot(symbol, conditions, share(condition, operator.input, statistics))


def _rate(operator: PatternMatcher, unit: str, statistics: Statistics) -> float:
    attributes = {bare(one.name): one for one in operator.input.payload}
    keys = [attributes[name] for name in operator.clause.partition]
    partitions = prod(distinct(operator.input, one, statistics) for one in keys)
    return arrivals(operator.input, statistics) / partitions * LENGTHS[unit] / LENGTHS["SECOND"]


def shared_filters(filters: Iterable[ExtendedFilter]) -> Iterator[ExtendedFilter]:
    """Few filters for the matchers of all of these: those that read the same events share one, if they have
    a symbol of the same definition. It is as wide as the widest of their windows."""
    alike: dict[object, list[ExtendedFilter]] = {}
    for one in sorted(dict.fromkeys(filters), key=lambda one: one.reach):
        alike.setdefault(one.reads, []).append(one)
    for left in alike.values():
        while left:
            found = _most_shared(left)
            yield found
            left = [one for one in left if not set(one.matchers) <= set(found.matchers)]


def _most_shared(filters: Sequence[ExtendedFilter]) -> ExtendedFilter:
    """The filter for the most matchers."""
    known = {one: {pivot.definition for pivot in one.pivots} for one in filters}
    best = filters[0]
    for definition, count in Counter(one for several in known.values() for one in several).most_common():
        if count < 2:
            break
        found = _together([one for one in filters if definition in known[one]])
        best = max(best, found, key=lambda one: len(one.matchers))
    return best


def _together(filters: Sequence[ExtendedFilter]) -> ExtendedFilter:
    """One for as many of the filters as it pays for, beginning with those of short windows."""
    found, *others = filters
    for one in others:
        known = {pivot.definition for pivot in one.pivots}
        common = tuple(pivot for pivot in found.pivots if pivot.definition in known)
        matchers = tuple(dict.fromkeys((*found.matchers, *one.matchers)))
        wider = replace(found, matchers=matchers, pivots=common, reach=max(found.reach, one.reach))
        found = wider if wider.pays else found
    return found


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
