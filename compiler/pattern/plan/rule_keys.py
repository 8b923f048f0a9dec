"""Rules of a finer key in the pass of a coarser one.

Events that are equal in card and merchant are equal in the card. So a rule with `[card, merchant]` finds all
its matches if events are partitioned by card, and the merchant stays a condition between its events. Then the
rule needs no scan, shuffle and sort of its own, and shares those steps with a rule with `[card]` that are the
same; a step that also compares merchants stays its own.

In the same way `[street]` runs beside `[level(street, Place.city)]`: a level is a function of the value, and
of NULL, and of values that the relation does not have, it is NULL, which is a partition like others. From one
level to the next there is no such function: where the country of a street is not known, that of its city may
be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import log2

from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.expressions import Attribute, SameAttributes, Variable, conjoin, conjuncts
from neelc.ir.names import bare, same, written
from neelc.ir.program import LevelColumn, Match, Stream
from neelc.pattern.analysis.keys import Key
from neelc.pattern.cost import ledger as w
from neelc.pattern.cost.estimate import KernelInput, estimate, key_terms, largest_share, produced
from neelc.pattern.cost.ledger import Ledger
from neelc.pattern.cost.setting import CostSetting
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import KernelPlan, KeyColumn, kernel_plan
from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class RulePlan:
    """A rule and how the kernel finds its matches if it is partitioned by `keys`. `chunked`: few keys have
    most of its events. A rule that is an OR may be several of these, one for each `branch`, from 1 on."""

    name: str
    query: Match
    planned: KernelPlan
    keys: tuple[Key, ...] = ()
    chunked: bool = False
    branch: int = 0

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.name} (branch {self.branch})" if self.branch else self.name


def planned_by(rule: RulePlan, keys: tuple[Key, ...], first: tuple[str, ...] = ()) -> RulePlan | None:
    """The rule, partitioned by these keys, taking the events of some variables first; None if the kernel
    cannot."""
    try:
        planned = kernel_plan(rule.query, keys, rule.planned.plan.unit, first=first)
    except UnsupportedQuery:
        return None
    return replace(rule, planned=planned, keys=keys)


def pass_signature(rule: RulePlan) -> tuple[object, ...]:
    """What rules of one pass have in common."""
    planned, query = rule.planned, rule.query
    keys = tuple(sorted(map(key_signature, planned.keys), key=str))
    everything = planned.program.everything
    streams = frozenset(stream.name for stream in query.streams) if everything else None
    windowless = planned.program.reach is None
    # Without a key, time is cut into chunks: only where there is a window.
    is_endless = windowless and not keys
    return planned.plan.unit, query.clock, keys, everything, streams, is_endless, query.order_types


def key_signature(key: KeyColumn) -> tuple[object, ...]:
    if len(key.terms) == 1:
        return key.type, key.terms[0][0]
    return key.type, frozenset(key.terms)


# Keys that are functions of others.


def coarsened(rule: RulePlan, coarse: Sequence[RulePlan]) -> RulePlan | None:
    """The rule in the pass of others, its own key kept as conditions; None if it cannot be."""
    if not rule.keys or not coarse[0].keys or rule.query.partial is not None:
        return None
    times = [(one.planned.plan.unit, one.query.clock, one.query.order_types) for one in (rule, coarse[0])]
    if times[0] != times[1]:
        return None
    if any(one.planned.program.everything for one in (rule, coarse[0])) or _lasts_longer(rule, coarse):
        return None
    query, keys = rule.query, list[Key]()
    own = list(zip(rule.keys, rule.planned.keys, strict=False))
    for wanted in coarse[0].planned.keys:
        key = next((key for key, column in own if key_signature(column) == key_signature(wanted)), None)
        if key is None:
            extended = _with_level(query, wanted, [column for _, column in own], coarse)
            if extended is None:
                return None
            query, key = extended, _key_of_level(rule.keys[0], wanted)
        keys.append(key)
    found = planned_by(replace(rule, query=query), tuple(keys))
    is_whole = found is not None and found.planned.residual == rule.planned.residual
    return found if found and is_whole and pass_signature(found)[2] == pass_signature(coarse[0])[2] else None


def _lasts_longer(rule: RulePlan, others: Iterable[RulePlan]) -> bool:
    """Whether the rule has no window, so that others would have to keep all events, too."""
    return rule.planned.program.reach is None and all(one.planned.program.reach is not None for one in others)


def _with_level(
    query: Match, wanted: KeyColumn, own: Sequence[KeyColumn], coarse: Iterable[RulePlan]
) -> Match | None:
    """The query with a level of one of its own keys as an attribute of its events, if `wanted` is that."""
    (term, _), *others = wanted.terms
    if others or not isinstance(term, Attribute):
        return None
    known = {stream.name: stream for one in coarse for stream in one.query.streams}
    streams = {}
    for stream in query.streams:
        level = _level(known.get(stream.name), term)
        if level is None or not any(_is_attribute(key, level.attribute) for key in own):
            return None
        column = next(one for one in known[stream.name].columns if one.name == level.name)
        if level not in stream.derived:
            stream = replace(stream, columns=(*stream.columns, column), derived=(*stream.derived, level))
        streams[stream.name] = stream
    types = tuple(
        one if column in one.columns else replace(one, columns=(*one.columns, column)) for one in query.types
    )
    return replace(query, streams=tuple(streams.values()), types=types)


def _level(stream: Stream | None, term: Attribute) -> LevelColumn | None:
    derived = () if stream is None else stream.derived
    levels = (one for one in derived if isinstance(one, LevelColumn) and one.attribute)
    return next((one for one in levels if one.name == bare(term.name)), None)


def _is_attribute(key: KeyColumn, name: str) -> bool:
    """Whether a key is this attribute of all events, as it comes."""
    term = key.terms[0][0]
    return key.is_column and isinstance(term, Attribute) and same(term.name, written(name))


def _key_of_level(own: Key, wanted: KeyColumn) -> Key:
    """The level of each event that a key of the same query has a value for."""
    term = wanted.terms[0][0]
    assert isinstance(term, Attribute)
    terms = tuple((variable, replace(term, event=Variable(variable))) for variable, _ in own.terms)
    return Key(bare(term.name), terms)


# What a pass costs, and what a rule searches in it.


@dataclass(frozen=True)
class PassInput:
    """The events that a pass reads: rows of each stream, events of each type that reach the shuffle, and the
    bytes of one of them."""

    scanned: Mapping[object, float]
    kept: Mapping[object, float]
    width: float

    def united(self, other: PassInput) -> PassInput:
        """What one pass reads that does the work of two."""
        return PassInput(
            _most(self.scanned, other.scanned), _most(self.kept, other.kept), max(self.width, other.width)
        )

    @property
    def work(self) -> float:
        """To scan, shuffle, sort and hand over."""
        scanned = sum(self.scanned.values())
        rows = min(scanned, sum(self.kept.values()))
        shuffled = w.SHUFFLE_ROW + self.width * w.SHUFFLE_BYTE + w.HAND_OVER_ROW
        return scanned * w.SCAN_ROW + rows * (shuffled + log2(max(2.0, rows)) * w.SORT_COMPARISON)


def _most(one: Mapping[object, float], other: Mapping[object, float]) -> Mapping[object, float]:
    return {key: max(one.get(key, 0.0), other.get(key, 0.0)) for key in {**one, **other}}


def _input(rule: RulePlan, statistics: Statistics) -> PassInput:
    ledger = Ledger(rule.query, statistics)
    data = KernelInput(CostSetting(ledger, key_terms(rule.keys)))
    members = {known.name: known.members for known in rule.query.types}
    return PassInput(
        {stream.name: ledger.stream_events(stream) for stream in rule.query.streams},
        {members[type]: rows for type, rows in data.kept.items()},
        data.bytes_shuffled / max(1.0, data.rows_sorted),
    )


def _of_all(rules: Iterable[RulePlan], statistics: Statistics) -> PassInput:
    return reduce(PassInput.united, (_input(rule, statistics) for rule in rules))


CANDIDATE = 0.3
"""Looking at one more event for a partial match, in units of one row scanned: 20 to 50 ns on a worker."""
OTHER_SHAPE = 1.0
"""A row of the result beside rows of another shape, which it has a NULL for: 110 ns, worker and Spark."""


@dataclass(frozen=True)
class SearchCost:
    """How many events the search for the matches of rules looks at, how many rows it has, and the work to
    bring these out."""

    tried: float
    rows: float
    produced: float


def _searched(rules: Iterable[RulePlan], statistics: Statistics) -> SearchCost:
    tried = rows = work = 0.0
    for rule in rules:
        query = _with_equal_levels(rule)
        found = estimate(query, statistics, keys=rule.keys)
        tried += sum(step.tried for step in found.steps)
        rows += found.rows_produced
        work += produced(found.rows_produced, CostSetting(Ledger(query, statistics))).work
    return SearchCost(tried, rows, work)


def _with_equal_levels(rule: RulePlan) -> Match:
    """The query of a rule for estimates: levels that are its keys are equal, which it need not say."""
    query = rule.query
    derived = {one.name for stream in query.streams for one in stream.derived}
    levels = tuple(written(key.name) for key in rule.keys if key.name in derived)
    if not levels:
        return query
    where = conjoin([*conjuncts(query.pattern.where), SameAttributes(levels)])
    return replace(query, pattern=replace(query.pattern, where=where))


# Which passes are joined.

MOST_TOGETHER = 0.05
"""If the commonest of the coarser keys has a larger share of the events, a rule stays with its finer key."""


@dataclass(frozen=True)
class KeyChoice:
    """Rules with the key `own` that can be in the pass of a coarser key, and whether they are: the work of
    two passes, that of one, and the share of the events that have the commonest coarser key. `chunked`: the
    coarser pass is cut into chunks of time."""

    rules: tuple[str, ...]
    own: tuple[str, ...]
    coarser: tuple[str, ...]
    apart: float
    together: float
    share: float
    chunked: bool = False

    @property
    def loss(self) -> float:
        """How much more work one pass is."""
        return self.together - self.apart

    @property
    def is_crowded(self) -> bool:
        """Whether one worker would get too many of the events, while the finer key spreads them."""
        return self.share > MOST_TOGETHER and not self.chunked

    @property
    def joins(self) -> bool:
        return self.loss < 0 and not self.is_crowded


@dataclass(frozen=True)
class RulePass:
    """Rules that are executed together, and what was chosen about their keys."""

    rules: tuple[RulePlan, ...]
    choices: tuple[KeyChoice, ...] = ()


def joined_passes(passes: Iterable[Sequence[RulePlan]], statistics: Statistics) -> list[RulePass]:
    """The passes, those with finer keys joined with one of a coarser key where that is less work."""
    found = {place: RulePass(tuple(rules)) for place, rules in enumerate(passes)}
    for place in sorted(found, key=lambda place: -len(found[place].rules[0].keys)):
        fine = found[place]
        options = {
            other: option
            for other, coarse in found.items()
            if other != place and (option := _joined(fine, coarse, statistics)) is not None
        }
        if options:
            best = min(options, key=lambda other: options[other].choices[-1].loss)
            if options[best].choices[-1].joins:
                found[best] = options[best]
                del found[place]
            else:
                found[place] = replace(fine, choices=(*fine.choices, options[best].choices[-1]))
    return list(found.values())


def _joined(fine: RulePass, coarse: RulePass, statistics: Statistics) -> RulePass | None:
    """The second pass with the rules of the first one, and as its last choice what that costs; None if it
    cannot be."""
    moved = list[RulePlan]()
    for rule in fine.rules:
        one = coarsened(rule, coarse.rules)
        if one is None:
            return None
        moved.append(one)
    inputs = [_of_all(one.rules, statistics) for one in (fine, coarse)]
    others, before, after = (_searched(rules, statistics) for rules in (coarse.rules, fine.rules, moved))
    results = others.produced + before.produced
    shapes = (others.rows + before.rows) * OTHER_SHAPE
    choice = KeyChoice(
        tuple(dict.fromkeys(rule.name for rule in fine.rules)),
        tuple(key.name for key in fine.rules[0].keys),
        tuple(key.name for key in coarse.rules[0].keys),
        inputs[0].work + inputs[1].work + before.tried * CANDIDATE + results,
        inputs[0].united(inputs[1]).work + after.tried * CANDIDATE + results + shapes,
        largest_share(moved[0].query, moved[0].keys, statistics),
        any(rule.chunked for rule in coarse.rules),
    )
    return RulePass((*coarse.rules, *moved), (*coarse.choices, *fine.choices, choice))
