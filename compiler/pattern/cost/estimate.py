"""What a plan is expected to cost: a value with a breakdown, not one number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from math import log2, prod

from neelc.catalog.statistics.numbers import Fact, Statistics
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import Attribute, Expr, conjuncts
from neelc.ir.names import bare, same
from neelc.ir.node import walk
from neelc.ir.patterns import Event, Pattern, Repeat, all_parts, may_be_empty, targets
from neelc.ir.program import Column, Match
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import Array, DataType, Decimal, Map, SimpleType, Struct
from neelc.pattern.analysis.absent import is_impossible
from neelc.pattern.analysis.keys import Key, partition_keys
from neelc.pattern.cost import ledger as w
from neelc.pattern.cost.growth import (
    CHECK,
    EXTEND,
    ConditionEffect,
    CostRegion,
    Growth,
    GrowthStep,
    PartPosition,
    is_filter,
    single_event,
)
from neelc.pattern.cost.ledger import CostItem, Ledger, evaluation_cost, subject, term_of
from neelc.pattern.cost.selectivity import truth, without_casts
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
from neelc.runtime.late_dataclass import dataclass

# What Spark does before and after the search for matches: scan, filter, shuffle, sort, hand over, produce.
#
# As docs/explanation/architecture.md has it: only events of the pattern's types that pass the conditions on
# single events reach the shuffle, only with the columns used; there they are brought together by key, or by
# chunk of time where there is none, sorted by time, and handed to the kernel.


# How many bytes events take: the columns a query uses, and their types.

TIME, TYPE = 8.0, 4.0
"""Every event has a time and a type; types travel as codes."""
TEXT = 20.0
"""A name, a word or an identifier, with its length."""
ITEMS = 10.0
"""Items of an array or map, or of a list that is a result."""

_WIDTHS = {
    "VOID": 1, "BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "FLOAT": 4, "DATE": 4, "STRING": TEXT,
    "BINARY": 5 * TEXT,
}  # fmt: skip


def width(type: DataType) -> float:
    """
    >>> from neelc.ir.types import BIGINT, INT, STRING, StructField
    >>> width(BIGINT), width(Struct((StructField("a", INT), StructField("b", Array(STRING)))))
    (8.0, 204.0)
    """
    match type:
        case SimpleType(name):
            return float(_WIDTHS.get(name, 8))
        case Decimal():
            return 16.0
        case Array(element):
            return ITEMS * width(element)
        case Map(key, value):
            return ITEMS * (width(key) + width(value))
        case Struct(fields):
            return sum(width(field.type) for field in fields)
    return TEXT


def used_columns(query: Match) -> dict[str, frozenset[str] | None]:
    """The columns that conditions and results use of the events of each type; None for all of them.

    >>> from pattern_examples import query
    >>> columns = used_columns(query("SEQ(A a, B b) WHERE [id] AND a.x > 1 RETURN b.user, a AS whole"))
    >>> columns["A"], sorted(columns["B"])
    (None, ['id', 'user'])
    """
    types: dict[str, set[str]] = {}
    for part in all_parts(query.pattern):
        match part:
            case Event(type, str() as name) | Repeat(Event(type), variable=str() as name):
                types.setdefault(name, set()).add(type)
    used: dict[str, set[str]] = {
        type: set(map(bare, query.partition)) for several in types.values() for type in several
    }
    whole: set[str] = set()
    for node in (node for root in (query.pattern, *query.outputs) for node in walk(root)):
        match node:
            case e.Attribute(event, name):
                for type in types.get(subject(event), ()):
                    used[type].add(bare(name))
            case e.WholeEvent(event):
                whole |= types.get(subject(event), set())
            case e.SameAttributes(attributes):
                for columns in used.values():
                    columns.update(map(bare, attributes))
    return {type: None if type in whole else frozenset(columns) for type, columns in used.items()}


CHUNK = 10.0
"""Without a key, time is cut into chunks of this many windows; each also gets the window after its own."""


@dataclass
class KernelInput:
    """The events of a query on their way to the kernel.

    Of a million events a tenth are A, and of these one in 1,000 has the id 7.

    >>> from neelc.pattern.cost.ledger import Ledger
    >>> from neelc.catalog.statistics.numbers import Statistics
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B b) WHERE a.id = 7 RETURN a.id, b.x")
    >>> data = KernelInput(CostSetting(Ledger(match, Statistics())))
    >>> data.rows_scanned, {type: round(rows) for type, rows in data.kept.items()}
    (1000000.0, {'A': 100, 'B': 100000})
    >>> round(data.bytes_shuffled)  # time, type and one column of 8 bytes
    2002000
    """

    setting: CostSetting

    @cached_property
    def rows_scanned(self) -> float:
        """All rows of each stream, once, however many types and variables use it."""
        return sum(map(self.setting.ledger.stream_events, self.setting.query.streams))

    @cached_property
    def conditions(self) -> dict[str, list[Expr]]:
        """The conditions on single events, by variable."""
        conditions: dict[str, list[Expr]] = defaultdict(list)
        for part in walk(self.setting.query.pattern):
            if isinstance(part, Pattern):
                for condition in conjuncts(part.where):
                    if (name := single_event(condition)) is not None:
                        conditions[name].append(condition)
        return conditions

    @cached_property
    def kept(self) -> dict[str, float]:
        """Events of each type that some variable can use."""
        ledger, missed = self.setting.ledger, defaultdict[str, float](lambda: 1.0)
        for variable, type in ledger.types.items():
            shares = [truth(condition, ledger).true for condition in self.conditions[variable]]
            missed[type] *= 1 - prod(shares) * self.setting.left_by_shortcuts(variable)
        return {type: ledger.events(type) * (1 - share) for type, share in missed.items()}

    @property
    def counts_all(self) -> bool:
        """Whether events of other types matter too: they count in windows of events, and break contiguity."""
        query = self.setting.query
        within = query.within is not None and query.within.unit == "EVENT"
        return within or query.strategy.is_contiguous

    @property
    def copies(self) -> float:
        """How often an event is sent: twice where chunks of time overlap."""
        return 1.0 if self.setting.keys or self.setting.query.within is None else 1 + 1 / CHUNK

    @property
    def rows_sorted(self) -> float:
        kept = self.rows_scanned if self.counts_all else min(self.rows_scanned, sum(self.kept.values()))
        return kept * self.copies

    @cached_property
    def bytes_shuffled(self) -> float:
        """Time, type and the columns used; of events that only count, time and key."""
        columns = {type.name: type.columns for type in self.setting.query.types}
        used = used_columns(self.setting.query)
        size, rows = 0.0, 0.0
        for type, kept in self.kept.items():
            sent = _columns(columns[type], used.get(type, frozenset()))
            size += kept * (TIME + TYPE + sum(width(column.type) for column in sent))
            rows += kept
        scale = min(1.0, self.rows_scanned / rows) if rows else 0.0
        others = max(0.0, self.rows_scanned - rows) if self.counts_all else 0.0
        return (size * scale + others * (TIME + TYPE + TIME)) * self.copies

    def items(self) -> Iterator[CostItem]:
        """The work, line by line."""
        ledger = self.setting.ledger
        yield CostItem("scan", self.rows_scanned * w.SCAN_ROW)
        comparisons = sum(
            ledger.events(ledger.types[variable]) * sum(map(evaluation_cost, conditions))
            for variable, conditions in self.conditions.items()
            if variable in ledger.types
        )
        yield CostItem("filter events", w.comparisons_work(comparisons))
        rows = self.rows_sorted
        yield CostItem("shuffle", rows * w.SHUFFLE_ROW + self.bytes_shuffled * w.SHUFFLE_BYTE)
        yield CostItem("sort", rows * log2(max(2.0, rows)) * w.SORT_COMPARISON)
        yield CostItem("hand over", rows * w.HAND_OVER_ROW)


def produced(rows: float, setting: CostSetting) -> CostItem:
    """The rows of the result."""
    size = sum(width(output.type) for output in setting.query.outputs)
    return CostItem("produce rows", rows * (w.PRODUCE_ROW + size * w.PRODUCE_BYTE))


def _columns(columns: tuple[Column, ...], names: frozenset[str] | None) -> list[Column]:
    if names is None:
        return list(columns)
    return [column for column in columns if any(same(column.name, name) for name in names)]


# Keys that are no good for parallel work: few of them, or one that has most of the events.

MOST_SHARE = 0.2
"""A key with more of the events than that would keep one worker busy while the others have finished."""


def is_skewed(query: Match, keys: tuple[Key, ...], statistics: Statistics) -> bool:
    """Whether the statistics declare that one key has too large a share of the events.

    >>> from neelc.catalog.statistics.numbers import KnownStatistic
    >>> from pattern_examples import query
    >>> from neelc.pattern.analysis.keys import partition_keys
    >>> match = query("SEQ(A a, B b) WHERE [id] WITHIN 9")
    >>> numbers = [KnownStatistic("S", "MOST FREQUENT", n, "declared", None, "id") for n in (0.01, 0.5)]
    >>> declared = [Statistics((number,)) for number in numbers]
    >>> [is_skewed(match, partition_keys(match), statistics) for statistics in (Statistics(), *declared)]
    [False, False, True]
    """
    return bool(keys) and largest_share(query, keys, statistics) > MOST_SHARE


def largest_share(query: Match, keys: tuple[Key, ...], statistics: Statistics) -> float:
    """The share of the events that have the commonest key, or more; all of them, without a key."""
    ledger = Ledger(query, statistics)
    shares = []
    for key in keys:
        terms = [without_casts(term) for _, term in key.terms]
        attributes = [term for term in terms if isinstance(term, Attribute)]
        shares.append(max((ledger.most_frequent(*term_of(term)) for term in attributes), default=0.0))
    return min(shares, default=1.0)


# The attributes by which the events of a query are brought together.


def key_terms(keys: tuple[Key, ...]) -> frozenset[Term]:
    """Each variable with the attributes that are its keys.

    >>> from pattern_examples import query
    >>> from neelc.pattern.analysis.keys import partition_keys
    >>> sorted(key_terms(partition_keys(query("SEQ(A a, !N n, B b) WHERE [id] WITHIN 5"))))
    [('a', 'id'), ('b', 'id'), ('n', 'id')]
    """
    terms = (term for key in keys for term in key.terms)
    values = ((name, without_casts(value)) for name, value in terms)
    return frozenset((name, term_of(value)[1]) for name, value in values if isinstance(value, Attribute))


# SKIP TILL NEXT MATCH and the contiguities: one run from each first event, never a choice.
#
# An event that qualifies must be taken, so a run goes one way, and work is linear in the events of a window
# where it is a product of them under SKIP TILL ANY MATCH. Splits, where an event fits a list and what
# follows it, are rare.


@dataclass
class RunGrowth(Growth):
    """A search by runs. Negations are checked on complete matches, as under any strategy.

    Each of 10 A in a window starts a run, and most find a B.

    >>> from neelc.pattern.cost.ledger import Ledger
    >>> from neelc.pattern.cost.setting import CostSetting
    >>> from neelc.catalog.statistics.numbers import Statistics
    >>> from pattern_examples import query
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
        # An optional part neither starts a run nor ends it, unless all parts are optional.
        steps = tuple(part for part in present if not may_be_empty(part)) or present
        gap = Gap(at.span, max(1.0, sum(map(room, steps))))
        region.filters += [(part, gap, at.same) for part in parts if is_filter(part)]
        looked = sum(self._count(part) for part in steps)
        start = waiting = alive = NOTHING
        counts: list[float] = []
        for place, part in enumerate(steps):
            effect = region.bind(*targets(part), listed=isinstance(part, p.Repeat))
            count = events(self._count(part)).plus(_left(effect)).number
            if place == 0:
                start = alive = events(count)
                tried = start
            else:
                tried = alive.plus(self._looks(looked))
                chance, waiting = self._reached(count, waiting, counts)
                alive = start.times(chance)
            is_last = place == len(steps) - 1
            alive = alive.times(self._elements(part, count, is_last))
            self.steps.append(
                GrowthStep(EXTEND, str(part), tried, alive, effect.comparisons, variables=targets(part))
            )
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
        """Events of all types in a window: those that contiguity counts."""
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


def _left(effect: ConditionEffect) -> float:
    """What conditions leave of the events: here all of them decide whether an event qualifies."""
    return effect.once.both + effect.each.both


__all__ = ["StepCount", "Estimate", "CostItem", "estimate"]

HOPELESS = 1e12
"""More partial matches than that are too many for any cluster, whatever the errors of an estimate."""


@dataclass(frozen=True)
class StepCount:
    """A step of the search: how many bindings it looks at, and how many it keeps, in the whole input. It
    binds `variables`, or `checks` whether events for them exist."""

    what: str
    tried: float
    kept: float
    variables: tuple[str, ...] = ()
    checks: bool = False


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

    >>> from pattern_examples import query
    >>> cost = estimate(query("SEQ(A a, B b) WHERE [id] WITHIN 10 SECONDS"), Statistics())
    >>> round(cost.rows_produced), round(cost.rows_sorted), round(cost.partial_matches)
    (1000, 200000, 101000)
    >>> for item in cost.items:
    ...     print(f"{item.what}: {item.work:,.0f}")
    scan: 1,000,000
    filter events: 0
    shuffle: 680,000
    sort: 880,482
    hand over: 600,000
    extend partial matches: 4,040
    check conditions: 0
    check negations and existence: 0
    produce rows: 5,560

    Without `push_in` conditions are checked on complete matches, without a key: NEEL+'s basic system. `rows`
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
            StepCount(
                step.what,
                setting.occurrences(step.tried),
                setting.occurrences(step.kept),
                step.variables,
                step.kind == CHECK,
            )
            for step in steps
        ),
    )


def search_items(steps: Iterable[GrowthStep], setting: CostSetting) -> Iterator[CostItem]:
    """The work of a search, by kind."""
    extended = compared = checked = 0.0
    for step in steps:
        tried, kept = setting.occurrences(step.tried), setting.occurrences(step.kept)
        if step.kind == EXTEND:
            extended += tried * w.TRY + kept * w.HOLD
        compared += tried * w.comparisons_work(step.comparisons)
        checked += tried * step.work
    yield CostItem("extend partial matches", extended)
    yield CostItem("check conditions", compared)
    yield CostItem("check negations and existence", checked)


def _upkeep(setting: CostSetting) -> Iterator[CostItem]:
    """What shortcuts cost: NEEL+'s maintenance, of 5.6."""
    if setting.cuts:
        types = setting.ledger.types
        inner = sum(setting.ledger.events(types[cut.inner[0]]) for cut in setting.cuts)
        outer = sum(setting.ledger.events(types[cut.outer[0]]) for cut in setting.cuts)
        yield CostItem("shortcuts", inner * w.CACHE_ROW + outer * w.PROBE)


def limited(matches: float, setting: CostSetting) -> float:
    """The rows that `matches` matches produce: WITH PARTIAL MATCHES at most one for each start, and so with
    AFTER MATCH SKIP, whatever starts a match; with DISTINCT or aggregates, at most one for each combination
    of values.

    >>> from pattern_examples import query
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
    if query.kept is not None and query.kept.skip is not None:
        matches = min(matches, sum(setting.ledger.events(one) for one in set(setting.ledger.types.values())))
    if not query.distinct and not query.aggregated:
        return matches
    groups = [output for output in query.outputs if not output.is_aggregate]
    values = [without_casts(output.expression) for output in groups]
    counts = [setting.ledger.distinct(*term_of(value)) for value in values if isinstance(value, Attribute)]
    return min(matches, prod(counts)) if len(counts) == len(groups) else matches
