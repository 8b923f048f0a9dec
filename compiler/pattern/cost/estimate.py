"""What a plan is expected to cost: a value with a breakdown, not one number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from neelc.catalog.statistics.known import Fact
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import patterns as p
from neelc.ir.expressions import Attribute
from neelc.ir.patterns import may_be_empty, targets
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.absent import is_impossible
from neelc.pattern.analysis.keys import Key, partition_keys
from neelc.pattern.cost import ledger as w
from neelc.pattern.cost.growth import EXTEND, Growth, GrowthStep, PartPosition, is_filter
from neelc.pattern.cost.ledger import CostItem, Ledger, term_of
from neelc.pattern.cost.region import ConditionEffect, CostRegion
from neelc.pattern.cost.selectivity import without_casts
from neelc.pattern.cost.setting import (
    NOTHING,
    BindingCount,
    CostSetting,
    Gap,
    ShortcutEffect,
    Term,
    either,
    events,
    in_sequence,
    logarithm,
    occurs,
    room,
)
from neelc.pattern.cost.spark_work import KernelInput, produced

# The attributes by which the events of a query are brought together.


def key_terms(keys: tuple[Key, ...]) -> frozenset[Term]:
    """Each variable with the attributes that are its keys.

    >>> from neelc.pattern.rules.examples import query
    >>> from neelc.pattern.analysis.keys import partition_keys
    >>> sorted(key_terms(partition_keys(query("SEQ(A a, !N n, B b) WHERE [id] WITHIN 5"))))
    [('a', 'id'), ('b', 'id'), ('n', 'id')]
    """
    terms = (term for key in keys for term in key.terms)
    found = ((name, without_casts(value)) for name, value in terms)
    return frozenset((name, term_of(value)[1]) for name, value in found if isinstance(value, Attribute))


# SKIP TILL NEXT MATCH and the contiguities: one run from each first event, never a choice.
#
# An event that qualifies must be taken, so a run goes one way, and work is linear in the events of a window
# where it is a product of them under SKIP TILL ANY MATCH. Splits, where an event fits a list and what
# follows it, are rare.


@dataclass
class RunGrowth(Growth):
    """A search by runs; negations are judged on complete matches, as any.

    Each of 10 A in a window starts a run, and most find a B.

    >>> from neelc.pattern.cost.ledger import Ledger
    >>> from neelc.pattern.cost.setting import CostSetting
    >>> from neelc.catalog.statistics.numbers import Statistics
    >>> from neelc.pattern.rules.examples import query
    >>> match = query("SEQ(A a, B b) WITHIN 10 SECONDS USING SKIP TILL NEXT MATCH")
    >>> setting = CostSetting(Ledger(match, Statistics()))
    >>> round(RunGrowth(setting).region(CostRegion(setting, match.pattern), PartPosition()).ways.number, 3)
    10.0
    """

    def part(self, region: CostRegion, part: p.Pattern, at: PartPosition) -> BindingCount:
        match part:
            case p.Or(parts):
                return either([self._inner(region, inner, at).ways for inner in parts])
            case p.Seq(parts):
                return self._chain(region, parts, at)
        return self._chain(region, (part,), at)

    def _chain(self, region: CostRegion, parts: tuple[p.Pattern, ...], at: PartPosition) -> BindingCount:
        present = tuple(part for part in parts if not is_filter(part))
        # What may be absent neither starts a run nor ends it, unless there is nothing else.
        steps = tuple(part for part in present if not may_be_empty(part)) or present
        gap = Gap(at.span, max(1.0, sum(map(room, steps))))
        region.filters += [(part, gap, at.same) for part in parts if is_filter(part)]
        looked = sum(self._count(part) for part in steps)
        start = waiting = alive = NOTHING
        counts: list[float] = []
        for place, part in enumerate(steps):
            found = region.bind(*targets(part), listed=isinstance(part, p.Repeat))
            count = events(self._count(part)).plus(_left(found)).number
            if place == 0:
                start = alive = events(count)
                tried = start
            else:
                tried = alive.plus(self._looks(looked))
                chance, waiting = self._reached(count, waiting, counts)
                alive = start.times(chance)
            is_last = place == len(steps) - 1
            alive = alive.times(self._elements(part, count, is_last))
            self.steps.append(GrowthStep(EXTEND, str(part), tried, alive, found.comparisons))
            region.necessary.append(count)
        return alive

    def _reached(
        self, count: float, waiting: BindingCount, counts: list[float]
    ) -> tuple[float, BindingCount]:
        """The chance that a run comes as far as this component, and what it has waited for."""
        counts.append(count)
        waiting = in_sequence(waiting, events(count))
        if self.setting.query.strategy == SelectionStrategy.NEXT_MATCH:
            return occurs(waiting, counts, 1.0), waiting
        next_one = [min(1.0, one / self._all) for one in counts]
        return BindingCount(sum(map(logarithm, next_one))).number, waiting

    @property
    def _all(self) -> float:
        """Events of all types in a window: what contiguity is about."""
        return max(self.setting.stream_rate * self.setting.window, 1e-9)

    def _looks(self, looked: float) -> float:
        """How many events a run looks at before it goes on."""
        return (
            logarithm(max(1.0, looked))
            if self.setting.query.strategy == SelectionStrategy.NEXT_MATCH
            else 0.0
        )

    def _elements(self, part: p.Pattern, count: float, is_last: bool) -> float:
        """Matches by run: a list at the end gives one for each of its prefixes (docs/decisions/0012)."""
        if not isinstance(part, p.Repeat) or not is_last:
            return 1.0
        longest = float(part.most or 1e12)
        if self.setting.query.strategy != SelectionStrategy.NEXT_MATCH:
            share = min(0.999, count / self._all)
            return max(1.0, min(longest, 1 / (1 - share)))
        return max(1.0, min(longest, count))

    def _count(self, part: p.Pattern) -> float:
        """Events in a window that a component can take; of a composite list, those of its first type."""
        match part:
            case p.Event(type):
                return self.setting.count(type) * self.setting.left_by_shortcuts(part.variable or "")
            case p.Repeat(inner) | p.Optional(inner):
                return self._count(inner)
            case p.Joint(parts):
                return min((self._count(inner) for inner in parts if not is_filter(inner)), default=1.0)
            case p.Or(parts):
                return sum(map(self._count, parts))
        return 1.0


def _left(found: ConditionEffect) -> float:
    """What conditions leave of the events: here all of them decide whether an event qualifies."""
    return found.once.both + found.each.both


__all__ = ["StepCount", "Estimate", "CostItem", "estimate"]

HOPELESS = 1e12
"""More partial matches than that are too many for any cluster, whatever the errors of an estimate."""


@dataclass(frozen=True)
class StepCount:
    """A step of the search: how many bindings it looks at, and how many it keeps, in the whole input."""

    what: str
    tried: float
    kept: float


@dataclass(frozen=True)
class Estimate:
    """The expected cost of a query in one form, over the whole input.

    `items` add up to `work`. `facts` are the numbers it rests on, each once. `partial_matches` are all that
    are ever written down, complete ones before their negations are checked included; `held` are those of one
    window, so at one time. `steps` say where they come from.
    """

    rows_scanned: float
    bytes_shuffled: float
    rows_sorted: float
    partial_matches: float
    rows_produced: float
    items: tuple[CostItem, ...]
    facts: tuple[Fact, ...] = ()
    held: float = 0.0
    steps: tuple[StepCount, ...] = ()

    @property
    def work(self) -> float:
        return sum(item.work for item in self.items)

    @property
    def explodes(self) -> bool:
        """Whether the search is hopeless: mostly a list without a limit under SKIP TILL ANY MATCH."""
        return self.partial_matches > HOPELESS


def estimate(
    query: Match,
    statistics: Statistics,
    cuts: tuple[ShortcutEffect, ...] = (),
    push_in: bool = True,
    rows: float | None = None,
    keys: tuple[Key, ...] | None = None,
) -> Estimate:
    """What executing a query is expected to cost, with the shortcuts in `cuts`. `keys` are its partition
    keys, if they are known.

    A million events in 100,000 seconds, so one A and one B a second, and 1,000 ids. Of 100,000 A each
    meets 10 B within 10 seconds, one in 1,000 of them with its own id:

    >>> from neelc.pattern.rules.examples import query
    >>> found = estimate(query("SEQ(A a, B b) WHERE [id] WITHIN 10 SECONDS"), Statistics())
    >>> round(found.rows_produced), round(found.rows_sorted), round(found.partial_matches)
    (1000, 200000, 101000)
    >>> for item in found.items:
    ...     print(f"{item.what}: {item.work:,.0f}")
    scan: 1,000,000
    filter events: 0
    shuffle: 680,000
    sort: 880,482
    hand over: 600,000
    extend partial matches: 4,040
    judge conditions: 0
    check negations and existence: 0
    produce rows: 5,560

    Without `push_in` conditions are judged on complete matches, without a key: NEEL+'s basic system. `rows`
    are the rows of the result, if they are known better: rewritten queries have the same.

    >>> estimate(query("SEQ(A a, B b) WHERE FALSE"), Statistics()).work
    0.0
    """
    if is_impossible(query.pattern):
        return Estimate(0.0, 0.0, 0.0, 0.0, 0.0, (CostItem("nothing, as no match is possible", 0.0),))
    ledger = Ledger(query, statistics)
    terms = key_terms(partition_keys(query) if keys is None else keys) if push_in else frozenset()
    setting = CostSetting(ledger, terms, cuts, push_in)
    search = Growth(setting) if query.strategy == SelectionStrategy.ANY_MATCH else RunGrowth(setting)
    matches = setting.occurrences(search.region(CostRegion(setting, query.pattern), PartPosition()).ways)
    rows = limited(matches, setting) if rows is None else rows
    items = (*search_items(search.steps, setting), *_upkeep(setting))
    return assembled(setting, search.steps, items, rows)


def assembled(
    setting: CostSetting, steps: list[GrowthStep], search: Iterable[CostItem], rows: float
) -> Estimate:
    """An estimate, from what the search for matches costs."""
    data = KernelInput(setting)
    written = [step for step in steps if step.kind == EXTEND]
    items = (*data.items(), *search, produced(rows, setting))
    return Estimate(
        rows_scanned=data.rows_scanned,
        bytes_shuffled=data.bytes_shuffled,
        rows_sorted=data.rows_sorted,
        partial_matches=sum(setting.occurrences(step.kept) for step in written),
        rows_produced=rows,
        items=items,
        facts=setting.ledger.facts,
        held=sum(step.kept.number for step in written),
        steps=tuple(
            StepCount(step.what, setting.occurrences(step.tried), setting.occurrences(step.kept))
            for step in steps
        ),
    )


def search_items(steps: Iterable[GrowthStep], setting: CostSetting) -> Iterator[CostItem]:
    """The work of a search, by kind."""
    extended = judged = checked = 0.0
    for step in steps:
        tried, kept = setting.occurrences(step.tried), setting.occurrences(step.kept)
        if step.kind == EXTEND:
            extended += tried * w.TRY + kept * w.HOLD
        judged += tried * w.comparisons_work(step.comparisons)
        checked += tried * step.work
    yield CostItem("extend partial matches", extended)
    yield CostItem("judge conditions", judged)
    yield CostItem("check negations and existence", checked)


def _upkeep(setting: CostSetting) -> Iterator[CostItem]:
    """What shortcuts cost: NEEL+'s maintenance, of 5.6."""
    if setting.cuts:
        types = setting.ledger.types
        inner = sum(setting.ledger.events(types[cut.inner[0]]) for cut in setting.cuts)
        outer = sum(setting.ledger.events(types[cut.outer[0]]) for cut in setting.cuts)
        yield CostItem("shortcuts", inner * w.CACHE_ROW + outer * w.PROBE)


def limited(matches: float, setting: CostSetting) -> float:
    """Rows of so many matches: WITH PARTIAL MATCHES not more than there are starts; with DISTINCT and with
    aggregates, not more than there are combinations of values.

    >>> from neelc.pattern.rules.examples import query
    >>> match = query("SEQ(A a, B b) RETURN DISTINCT a.id")
    >>> setting = CostSetting(Ledger(match, Statistics()))
    >>> limited(1e9, setting), limited(10, setting)
    (1000.0, 10)
    """
    query = setting.query
    if query.partial is not None:
        types = setting.ledger.types
        first = (types[level.start] for level in query.partial.levels if level.start in types)
        matches = min([matches, *map(setting.ledger.events, dict.fromkeys(first))])
    if not query.distinct and not query.aggregated:
        return matches
    groups = [output for output in query.outputs if not output.is_aggregate]
    values = [without_casts(output.expression) for output in groups]
    known = [setting.ledger.distinct(*term_of(value)) for value in values if isinstance(value, Attribute)]
    return min(matches, prod(known)) if len(known) == len(groups) else matches
