"""The strategies: how the matches of a query are found, and which of them can find those of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from neelc.engines.spark.joins import join_relations
from neelc.engines.spark.kernel import aggregate_relations, imprecise_relations, kernel_relations
from neelc.engines.spark.relations import Extend, Join, Kernel, Let
from neelc.engines.spark.scans import StreamRelations
from neelc.engines.spark.windows import window_relations
from neelc.ir.patterns import Repeat, all_parts
from neelc.ir.program import Match
from neelc.pattern.analysis.keys import Key, partition_keys
from neelc.pattern.analysis.shortcuts import Shortcut
from neelc.pattern.cost.choose import LITTLE, FormChoice, PlanShape, strategy_work
from neelc.pattern.cost.estimate import Estimate
from neelc.pattern.plan.baselines import iterative, judged_last
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import unit_of
from neelc.pattern.plan.counting.plan import aggregate_plan
from neelc.pattern.plan.imprecise import imprecise_plan
from neelc.pattern.plan.join_plan import join_plan
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.pattern.plan.match_to_plan import CONTIGUITY, is_imprecise
from neelc.runtime.program import PatternProgram


@dataclass(frozen=True)
class PlanningTask:
    """A query to be planned: its keys, its unit of time, what it reads, and the name of its result.
    `written` is the query as it was before rewriting."""

    query: Match
    keys: tuple[Key, ...]
    unit: str
    sources: StreamRelations
    name: str
    as_stream: bool
    written: Match
    push_in: bool = True
    shortcuts: tuple[Shortcut, ...] = ()
    chunked: bool = False
    most_matches: int | None = None


def _kernel(task: PlanningTask, taken: set[str]) -> Iterator[Let]:
    if is_imprecise(task.query):
        return _imprecise(task, taken)
    changed = None if task.push_in else judged_last
    planned = kernel_plan(task.query, task.keys, task.unit, changed, shortcuts=task.shortcuts)
    return _in_kernel(task, task.query, planned, taken)


def _in_kernel(task: PlanningTask, query: Match, planned: KernelPlan, taken: set[str]) -> Iterator[Let]:
    return kernel_relations(
        query, planned, task.sources, taken, task.name, task.as_stream, task.chunked, task.most_matches
    )


def _imprecise(task: PlanningTask, taken: set[str]) -> Iterator[Let]:
    """Matches with their confidence. Where the rewritten query cannot be weighed, the one that is written may
    be."""
    try:
        query, planned = task.query, imprecise_plan(task.query, task.keys, task.unit)
    except UnsupportedQuery:
        query, planned = task.written, imprecise_plan(task.written, partition_keys(task.written), task.unit)
    return imprecise_relations(
        query, planned, task.sources, taken, task.name, task.as_stream, task.chunked, task.most_matches
    )


def _join(task: PlanningTask, taken: set[str]) -> Iterator[Let]:
    planned = join_plan(task.query, task.keys, task.unit)
    return iter(join_relations(task.query, planned, task.sources, taken, task.name, task.as_stream))


def _window(task: PlanningTask, taken: set[str]) -> Iterator[Let]:
    planned = join_plan(task.query, task.keys, task.unit, contiguous=task.query.strategy in CONTIGUITY)
    return iter(window_relations(task.query, planned, task.sources, taken, task.name, task.as_stream))


def _nested(task: PlanningTask, taken: set[str]) -> Iterator[Let]:
    """The query as it is written, with the kernel, but without any of what makes it fast."""
    planned = kernel_plan(task.written, partition_keys(task.written), task.unit, iterative, nested=True)
    return _in_kernel(task, task.written, planned, taken)


def _counting(task: PlanningTask, taken: set[str]) -> Iterator[Let]:
    """Aggregates over matches without the matches; raises `UnsupportedQuery` where those are needed."""
    for query, keys in ((task.query, task.keys), (task.written, partition_keys(task.written))):
        found = aggregate_plan(query, keys, task.unit)
        if found is not None and not task.as_stream:
            return aggregate_relations(query, found, task.sources, taken, task.name, task.chunked)
    raise UnsupportedQuery("counting matches that must be enumerated")


PRICED = ("kernel", "window", "join")
"""Those to choose from. `nested` is a baseline: it can do nothing that the kernel cannot."""

STRATEGIES: dict[str, Callable[[PlanningTask, set[str]], Iterator[Let]]] = {
    "kernel": _kernel,
    "window": _window,
    "join": _join,
    "nested": _nested,
    "counting": _counting,
}


@dataclass(frozen=True)
class StrategyPrice:
    """What a strategy is expected to cost; or why it cannot execute the query."""

    strategy: str
    work: float | None = None
    refusal: str = ""


@dataclass(frozen=True)
class PlannedQuery:
    """The relations of a query under the strategy that was taken, and what was considered."""

    strategy: str
    lets: tuple[Let, ...]
    prices: tuple[StrategyPrice, ...]


def planned(task: PlanningTask, strategy: str, taken: set[str]) -> PlannedQuery:
    """A query under one strategy; raises `UnsupportedQuery`. Names are taken only if it succeeds."""
    names = set(taken)
    lets = tuple(STRATEGIES[strategy](task, names))
    taken |= names
    return PlannedQuery(strategy, lets, (StrategyPrice(strategy),))


def cheapest(task: PlanningTask, estimate: Estimate, taken: set[str]) -> PlannedQuery:
    """A query under the strategy of the least work; raises `UnsupportedQuery` if none can execute it."""
    if task.query.aggregated and task.push_in and _pays_to_count(task.query, estimate):
        with suppress(UnsupportedQuery):
            return planned(task, "counting", taken)
    found: list[tuple[float, PlannedQuery, set[str]]] = []
    prices: list[StrategyPrice] = []
    refusals: list[UnsupportedQuery] = []
    for strategy in PRICED:
        names = set(taken)
        try:
            one = planned(task, strategy, names)
        except UnsupportedQuery as refusal:
            refusals.append(refusal)
            prices.append(StrategyPrice(strategy, refusal=refusal.what))
            continue
        work = strategy_work(strategy, estimate, _shape(one.lets))
        prices.append(StrategyPrice(strategy, work))
        # Joins have costs of their own, which few events do not make up for.
        found.append((work + (LITTLE if strategy == "join" else 0.0), one, names))
    if not found:
        raise refusals[0]  # the kernel can do the most: what it cannot do is the reason
    # Single events that follow one another are what window functions are for.
    is_chain = task.query.strategy in CONTIGUITY
    _, best, names = min(found, key=lambda option: (is_chain and option[1].strategy != "window", option[0]))
    taken |= names
    return replace(best, prices=tuple(prices))


MANY = 20
"""So many partial matches for each event, and counting them is quicker than finding them (bench_counting)."""


def _pays_to_count(query: Match, estimate: Estimate) -> bool:
    """Whether matches are counted, if they can be. Of lists there are too many to find them one by one."""
    lists = any(isinstance(part, Repeat) for part in all_parts(query.pattern))
    return lists or estimate.partial_matches > MANY * max(1.0, estimate.rows_scanned)


def _shape(lets: tuple[Let, ...]) -> PlanShape:
    """How many joins and window functions a plan has."""
    joins = sum(isinstance(let.relation, Join) for let in lets)
    texts = [text for let in lets if isinstance(let.relation, Extend) for text, _ in let.relation.items]
    return PlanShape(joins + 1, sum(" OVER (" in text for text in texts))


# Which strategy a choice would be executed with, and what the others would cost: for explanations.


def considered(choice: FormChoice) -> PlannedQuery:
    """The plan of a choice by itself; raises `UnsupportedQuery` if no strategy can execute it.

    >>> from neelc.pattern.cost.choose import choose
    >>> from neelc.catalog.statistics.numbers import Statistics
    >>> from neelc.pattern.rules.examples import query
    >>> found = considered(choose(query("SEQ(A a, !B b, C c) WHERE [id] WITHIN 9"), Statistics()))
    >>> found.strategy, [(price.strategy, price.refusal) for price in found.prices]
    ('kernel', [('kernel', ''), ('window', 'window functions for a pattern of several events'), ('join', '')])
    """
    chosen = choice.chosen
    query = chosen.form.rewriting.query
    # Only relations between the works matter here, not what streams are called or how an earlier query
    # counts time.
    sources = StreamRelations(
        {stream.name: "stream" for stream in query.streams},
        {stream.query: "MICROSECOND" for stream in query.streams if stream.query},
    )
    taken = tuple(one.shortcut for one in chosen.shortcuts if one.taken)
    task = PlanningTask(
        query, chosen.keys, unit_of(query), sources, "result", False, choice.query, shortcuts=taken
    )
    return cheapest(task, chosen.estimate, set())


def program_of(found: PlannedQuery) -> PatternProgram | None:
    """What the kernel of a plan runs, if it has one."""
    programs = (let.relation.program for let in found.lets if isinstance(let.relation, Kernel))
    return next((one for one in programs if isinstance(one, PatternProgram)), None)
