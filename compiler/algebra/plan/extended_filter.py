"""The extended filter in front of pattern matchers (JEPC thesis, 19.2.4): few events, for one of them or for
many.

An event can be in a match only if it is near one that emits the *pivot*, a symbol that no match can do
without. Near is what lies within the window, or, if no match is longer than some events, what is so many
instants away: "If the first part of the pattern has a fixed length, the exact number of events to buffer can
be determined simply by counting the symbols" (19.3.2). Matchers that read the same events in the same
partitions share one filter, whatever queries they are in, if they have a symbol of the same definition. It
then also judges the events for all of them, so that they are shuffled and sorted once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, count
from math import prod

from neelc.algebra.cost.sizes import arrivals, distinct, share
from neelc.algebra.plan.sequential import SequentialPlan, with_columns
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import row_patterns as r
from neelc.ir.algebra import Operator, PatternMatcher
from neelc.ir.expressions import ROW, Expr, conjoin
from neelc.ir.names import bare
from neelc.ir.types import LENGTHS
from neelc.pattern.plan.blocks import renamed
from neelc.pattern.plan.columns import EventColumn, width_of
from neelc.runtime.late_dataclass import dataclass

BUCKETS = 3
"""What is kept around a pivot by time: its own bucket of one window, and both neighbours."""

MOST_KEPT = 0.1
"""The share of events that may be left, for the filter to pay: it reads the stream twice (bench_algebra). The
thesis' own pays up to 0.3."""

FEWEST_BY_PLACE = 4
"""The matchers that must share a filter by place for it to pay: it shuffles and sorts the stream, as one of
them would, and counts instants (bench_rules)."""

Definition = tuple[Expr, ...]
"""What an event must meet to emit a symbol, as far as it concerns the event alone; it is called ROW."""


@dataclass(frozen=True)
class Pivot:
    """Every match has an event of this definition, which `share` of the events are expected to meet. At most
    `before` instants of the match come before it and `after` behind it; None if there is no bound."""

    symbol: str
    definition: Definition
    share: float
    before: int | None
    after: int | None

    def is_same(self, other: Pivot) -> bool:
        return set(self.definition) == set(other.definition)

    def wider(self, other: Pivot) -> Pivot:
        """For the matches of two matchers."""
        if self.before is None or self.after is None or other.before is None or other.after is None:
            return replace(self, before=None, after=None)
        return replace(self, before=max(self.before, other.before), after=max(self.after, other.after))

    @property
    def kept(self) -> float:
        """The share of events that are expected to be so many instants away."""
        if self.before is None or self.after is None:
            return 1.0
        return min(1.0, self.share * (self.before + 1 + self.after))


@dataclass(frozen=True)
class JudgedEvents:
    """What is computed of each event for several matchers: the columns that they read, and all definitions of
    their symbols."""

    columns: tuple[EventColumn, ...]
    definitions: tuple[Definition, ...]

    def renamed(self, plan: SequentialPlan) -> SequentialPlan:
        """The plan of one of the matchers, for these columns."""
        names = {_content(one): one.name for one in self.columns}
        return with_columns(plan, {one.name: names[_content(one)] for one in plan.columns})


def judged_events(plans: Iterable[SequentialPlan]) -> JudgedEvents:
    """For the matchers of all these plans. Columns that differ have different names."""
    columns: dict[object, EventColumn] = {}
    definitions: dict[Definition, None] = {}
    taken: set[str] = set()
    for plan in plans:
        definitions |= dict.fromkeys(plan.bits)
        for one in plan.columns:
            if _content(one) not in columns:
                others = (f"{one.name}_{number}" for number in count(2))
                name = next(name for name in chain((one.name,), others) if name not in taken)
                taken.add(name)
                columns[_content(one)] = replace(one, name=name)
    return JudgedEvents(tuple(columns.values()), tuple(definitions))


def _content(column: EventColumn) -> tuple[Expr, str]:
    return column.expression, column.form


@dataclass(frozen=True, eq=False)
class ExtendedFilter:
    """What is read by these matchers, which have these plans and may be several: events near a pivot.

    `pivots` are emitted in every match of all of them, the rarest first. The times of a match differ by at
    most `reach` units, and `rate` events of one partition come in a unit of time.
    """

    matchers: tuple[PatternMatcher, ...]
    plans: tuple[SequentialPlan, ...]
    pivots: tuple[Pivot, ...]
    unit: str
    reach: int
    rate: float

    @cached_property
    def judged(self) -> JudgedEvents:
        return judged_events(self.plans)

    @property
    def reads(self) -> tuple[Operator, tuple[str, ...], str]:
        """What it depends on, besides the symbols of its matchers: the events, their partitions and times."""
        return self.matchers[0].input, self.matchers[0].clause.partition, self.unit

    @property
    def pivot(self) -> Pivot:
        return min(self.pivots, key=lambda one: one.kept) if self.is_by_place else self.pivots[0]

    @property
    def kept(self) -> float:
        """The share of events that are expected to be within a window of a pivot of their partition."""
        return min(1.0, self.pivots[0].share * max(1.0, BUCKETS * self.reach * self.rate))

    @property
    def is_by_time(self) -> bool:
        """Whether it pays to keep what is within a window of a pivot."""
        return bool(self.pivots) and self.kept <= MOST_KEPT

    @property
    def is_by_place(self) -> bool:
        """Whether only counting pays: windows are so long that a pivot is in most of them."""
        few = any(one.kept <= MOST_KEPT for one in self.pivots)
        return few and not self.is_by_time and len(self.matchers) >= FEWEST_BY_PLACE

    @property
    def pays(self) -> bool:
        return self.is_by_time or self.is_by_place


def extended_filter(
    operator: PatternMatcher, plan: SequentialPlan, unit: str, statistics: Statistics
) -> ExtendedFilter | None:
    """What a matcher could read few events by, if that pays or if others share it; None if it has no symbol
    that every match has. Without a window of time nobody knows how far a match reaches; and PREV looks at
    events that are in none. With AFTER MATCH SKIP, a matcher runs by itself."""
    within = operator.clause.within
    if within is None or within.unit == "EVENT" or plan.program.back or operator.clause.skip:
        return None
    reach, _ = width_of(within, unit)
    pivots = sorted(_pivots(operator, plan, statistics), key=lambda one: one.share)
    rate = _rate(operator, unit, statistics)
    return ExtendedFilter((operator,), (plan,), tuple(pivots), unit, max(1, reach), rate) if pivots else None


def _pivots(operator: PatternMatcher, plan: SequentialPlan, statistics: Statistics) -> Iterator[Pivot]:
    """The symbols of every match, each with what an event must meet to emit it. A symbol that a match can do
    without says nothing, and neither does a condition that depends on other events."""
    variable = next((str(one.event) for one in operator.input.payload), ROW)
    pattern = operator.clause.pattern
    for symbol in sorted(in_every_match(pattern)):
        definition = plan.definitions[symbol]
        condition = conjoin(renamed(one, ROW, variable) for one in definition)
        if condition is not None:
            met = share(condition, operator.input, statistics)
            # Where symbols follow eventually, any number of instants can be between them.
            places = None if operator.clause.following.eventually else around(pattern, symbol)
            before, after = places or (None, None)
            yield Pivot(symbol, definition, met, before, after)


def _rate(operator: PatternMatcher, unit: str, statistics: Statistics) -> float:
    attributes = {bare(one.name): one for one in operator.input.payload}
    keys = [attributes[name] for name in operator.clause.partition]
    partitions = prod(distinct(operator.input, one, statistics) for one in keys)
    return arrivals(operator.input, statistics) / partitions * LENGTHS[unit] / LENGTHS["SECOND"]


# Filters of several matchers.


def shared_filters(filters: Iterable[ExtendedFilter]) -> Iterator[ExtendedFilter]:
    """Few filters for the matchers of all of these: those that read the same events share one, if they have
    a symbol of the same definition, and if it pays."""
    alike: dict[object, list[ExtendedFilter]] = {}
    for one in sorted(dict.fromkeys(filters), key=lambda one: one.reach):
        alike.setdefault(one.reads, []).append(one)
    for left in alike.values():
        while left:
            found, members = _most_shared(left)
            yield _without_doubles(found)
            left = [one for one in left if one not in members]


def _without_doubles(found: ExtendedFilter) -> ExtendedFilter:
    """Each matcher once: queries may have the same."""
    plans = dict(zip(found.matchers, found.plans, strict=True))
    return replace(found, matchers=tuple(plans), plans=tuple(plans.values()))


def _most_shared(filters: Sequence[ExtendedFilter]) -> tuple[ExtendedFilter, set[ExtendedFilter]]:
    """The filter for the most of these, and those that it stands for."""
    known = {one: {frozenset(pivot.definition) for pivot in one.pivots} for one in filters}
    best, members = filters[0], {filters[0]}
    for definition, uses in Counter(one for several in known.values() for one in several).most_common():
        if uses <= len(members):
            break
        several = [one for one in filters if definition in known[one]]
        for by_time in (True, False):
            found, taken = _together(several, by_time)
            if found.pays and len(taken) > len(members):
                best, members = found, taken
    return best, members


def _together(filters: Sequence[ExtendedFilter], by_time: bool) -> tuple[ExtendedFilter, set[ExtendedFilter]]:
    """One for all of the filters, or, if it is to pay by time, for as many as it pays for, beginning with
    those of short windows."""
    found, taken = filters[0], {filters[0]}
    for one in filters[1:]:
        wider = _joined(found, one)
        if wider.is_by_time or not by_time:
            found = wider
            taken.add(one)
    return found, taken


def _joined(one: ExtendedFilter, other: ExtendedFilter) -> ExtendedFilter:
    """One filter for the matchers of two."""
    pairs = ((mine, next(filter(mine.is_same, other.pivots), None)) for mine in one.pivots)
    return replace(
        one,
        matchers=(*one.matchers, *other.matchers),
        plans=(*one.plans, *other.plans),
        pivots=tuple(mine.wider(yours) for mine, yours in pairs if yours is not None),
        reach=max(one.reach, other.reach),
    )


# What patterns say about their symbols.


def in_every_match(pattern: r.RowPattern) -> frozenset[str]:
    """The symbols that no match can do without.

    >>> a, b, c = map(r.RowVariable, "ABC")
    >>> sorted(in_every_match(r.RowSequence((a, r.RowRepeat(b, 0, None), r.RowAlternation((a, c))))))
    ['A']
    """
    match pattern:
        case r.RowVariable(name):
            return frozenset([name])
        case r.RowSequence(parts) | r.RowConjunction(parts):
            return frozenset().union(*map(in_every_match, parts))
        case r.RowAlternation(parts):
            return frozenset.intersection(*map(in_every_match, parts))
        case r.RowRepeat(part, least) if least > 0:
            return in_every_match(part)
    return frozenset()


def around(pattern: r.RowPattern, symbol: str) -> tuple[int, int] | None:
    """How many instants of a match can come before an event of a symbol that every match has, and behind it;
    None if there is no bound, or no such symbol.

    >>> a, b, c = map(r.RowVariable, "ABC")
    >>> around(r.RowSequence((a, r.RowRepeat(b, 0, 3), c, a)), "C")
    (4, 1)
    >>> around(r.RowSequence((a, r.RowRepeat(b, 1, None), c)), "C") is None
    True
    """
    match pattern:
        case r.RowVariable(name) if name == symbol:
            return 0, 0
        case r.RowConjunction() if symbol in in_every_match(pattern):
            return 0, 0
        case r.RowSequence(parts):
            place = next((n for n, part in enumerate(parts) if symbol in in_every_match(part)), None)
            inside = None if place is None else around(parts[place], symbol)
            lengths = [most_instants(part) for part in parts]
            if inside is None or place is None:
                return None
            before, after = _sum(lengths[:place]), _sum(lengths[place + 1 :])
            return None if before is None or after is None else (before + inside[0], inside[1] + after)
        case r.RowAlternation(parts):
            found = [around(part, symbol) for part in parts]
            known = [one for one in found if one is not None]
            if len(known) < len(found) or not known:
                return None
            return max(before for before, _ in known), max(after for _, after in known)
        case r.RowRepeat(_, least) if least > 0 and symbol in in_every_match(pattern):
            most = most_instants(pattern)
            return None if most is None else (most - 1, most - 1)
    return None


def most_instants(pattern: r.RowPattern) -> int | None:
    """The number of instants of the longest match; None if there is no longest.

    >>> a = r.RowVariable("A")
    >>> most_instants(r.RowSequence((a, r.RowRepeat(a, 0, 3)))), most_instants(r.RowRepeat(a, 0, None))
    (4, None)
    """
    match pattern:
        case r.RowVariable() | r.RowConjunction() | r.RowNegation():
            return 1
        case r.RowSequence(parts):
            return _sum([most_instants(part) for part in parts])
        case r.RowAlternation(parts):
            lengths = [most_instants(part) for part in parts]
            return None if None in lengths else max((one or 0 for one in lengths), default=0)
        case r.RowRepeat(part, _, most):
            longest = most_instants(part)
            return None if longest is None or most is None else longest * most
    return 0


def _sum(lengths: Sequence[int | None]) -> int | None:
    return None if None in lengths else sum(one or 0 for one in lengths)
