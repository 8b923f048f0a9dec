"""What a plan is expected to cost: a value with a breakdown, not one number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from neelc.cost import weights as w
from neelc.cost.facts import Fact
from neelc.cost.growth import Growth
from neelc.cost.items import Item
from neelc.cost.key_terms import key_terms
from neelc.cost.ledger import Ledger, term_of
from neelc.cost.region import Region
from neelc.cost.runs import Runs
from neelc.cost.setting import Cut, Setting
from neelc.cost.spark_work import Data, produced
from neelc.cost.statistics import Statistics
from neelc.cost.steps import EXTEND, Place, Step
from neelc.cost.truth import without_casts
from neelc.ir.expr import Aggregate, Attribute
from neelc.ir.logical import Match, OutputColumn
from neelc.ir.node import walk
from neelc.rewrite.facts import ANY_MATCH
from neelc.rewrite.impossible import is_impossible
from neelc.rewrite.keys import Key, partition_keys

__all__ = ["Count", "Estimate", "Item", "estimate"]

HOPELESS = 1e12
"""More partial matches than that are too many for any cluster, whatever the errors of an estimate."""


@dataclass(frozen=True)
class Count:
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
    items: tuple[Item, ...]
    facts: tuple[Fact, ...] = ()
    held: float = 0.0
    steps: tuple[Count, ...] = ()

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
    cuts: tuple[Cut, ...] = (),
    push_in: bool = True,
    rows: float | None = None,
    keys: tuple[Key, ...] | None = None,
) -> Estimate:
    """What executing a query is expected to cost, with the shortcuts in `cuts`. `keys` are its partition
    keys, if they are known.

    A million events in 100,000 seconds, so one A and one B a second, and 1,000 ids. Of 100,000 A each
    meets 10 B within 10 seconds, one in 1,000 of them with its own id:

    >>> from neelc.rewrite.examples import query
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
        return Estimate(0.0, 0.0, 0.0, 0.0, 0.0, (Item("nothing, as no match is possible", 0.0),))
    ledger = Ledger(query, statistics)
    terms = key_terms(partition_keys(query) if keys is None else keys) if push_in else frozenset()
    setting = Setting(ledger, terms, cuts, push_in)
    search = Growth(setting) if query.strategy == ANY_MATCH else Runs(setting)
    matches = setting.occurrences(search.region(Region(setting, query.pattern), Place()).ways)
    rows = limited(matches, setting) if rows is None else rows
    items = (*search_items(search.steps, setting), *_upkeep(setting))
    return assembled(setting, search.steps, items, rows)


def assembled(setting: Setting, steps: list[Step], search: Iterable[Item], rows: float) -> Estimate:
    """An estimate, from what the search for matches costs."""
    data = Data(setting)
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
            Count(step.what, setting.occurrences(step.tried), setting.occurrences(step.kept))
            for step in steps
        ),
    )


def search_items(steps: Iterable[Step], setting: Setting) -> Iterator[Item]:
    """The work of a search, by kind."""
    extended = judged = checked = 0.0
    for step in steps:
        tried, kept = setting.occurrences(step.tried), setting.occurrences(step.kept)
        if step.kind == EXTEND:
            extended += tried * w.TRY + kept * w.HOLD
        judged += tried * w.comparisons_work(step.comparisons)
        checked += tried * step.work
    yield Item("extend partial matches", extended)
    yield Item("judge conditions", judged)
    yield Item("check negations and existence", checked)


def _upkeep(setting: Setting) -> Iterator[Item]:
    """What shortcuts cost: NEEL+'s maintenance, of 5.6."""
    if setting.cuts:
        types = setting.ledger.types
        inner = sum(setting.ledger.events(types[cut.inner[0]]) for cut in setting.cuts)
        outer = sum(setting.ledger.events(types[cut.outer[0]]) for cut in setting.cuts)
        yield Item("shortcuts", inner * w.CACHE_ROW + outer * w.PROBE)


def limited(matches: float, setting: Setting) -> float:
    """Rows of so many matches: WITH PARTIAL MATCHES not more than there are starts; with DISTINCT and with
    aggregates, not more than there are combinations of values.

    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, B b) RETURN DISTINCT a.id")
    >>> limited(1e9, Setting(Ledger(match, Statistics()))), limited(10, Setting(Ledger(match, Statistics())))
    (1000.0, 10)
    """
    query = setting.query
    if query.partial is not None:
        types = setting.ledger.types
        first = (types[level.start] for level in query.partial.levels if level.start in types)
        matches = min([matches, *map(setting.ledger.events, dict.fromkeys(first))])
    if not query.distinct and not query.aggregated:
        return matches
    groups = [output for output in query.outputs if not _is_aggregate(output)]
    values = [without_casts(output.expression) for output in groups]
    known = [setting.ledger.distinct(*term_of(value)) for value in values if isinstance(value, Attribute)]
    return min(matches, prod(known)) if len(known) == len(groups) else matches


def _is_aggregate(output: OutputColumn) -> bool:
    return any(isinstance(node, Aggregate) for node in walk(output.expression))
