"""The pivot of a pattern matcher: the symbol that an extended filter looks for (JEPC thesis, 19.2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from neelc.cost.algebra_sizes import arrivals, distinct, share
from neelc.cost.statistics import Statistics
from neelc.ir import rows as r
from neelc.ir.algebra import PatternMatcher
from neelc.ir.conjuncts import conjoin
from neelc.ir.expr import Expr
from neelc.ir.names import bare
from neelc.ir.row_values import ROW
from neelc.ir.units import LENGTHS
from neelc.plan.event_roles import renamed
from neelc.plan.sequential_plan import sequential_plan
from neelc.plan.widths import width_of

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
    found = []
    for symbol in sorted(in_every_match(operator.clause.pattern)):
        conditions = plan.bits[plan.program.names.index(symbol)]
        condition = conjoin(renamed(one, ROW, variable) for one in conditions)
        if condition is not None:
            met = share(condition, operator.input, statistics)
            found.append(Pivot(symbol, conditions, max(1, reach), met))
    return found


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
