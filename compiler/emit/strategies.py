"""The strategies: how the matches of a query are found, and which of them can find those of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from neelc.cost.choose import LITTLE
from neelc.cost.estimate import Estimate
from neelc.cost.strategy_work import Shape, strategy_work
from neelc.emit.aggregate_relations import aggregate_relations
from neelc.emit.imprecise_relations import imprecise_relations
from neelc.emit.join_relations import join_relations
from neelc.emit.kernel_relations import kernel_relations
from neelc.emit.relations import Extend, Join, Let
from neelc.emit.scans import Sources
from neelc.emit.window_relations import window_relations
from neelc.ir.logical import Match
from neelc.ir.parts import all_parts
from neelc.ir.pattern import Repeat
from neelc.plan.aggregate_plan import aggregate_plan
from neelc.plan.baselines import iterative, judged_last
from neelc.plan.imprecise_plan import imprecise_plan
from neelc.plan.imprecise_refusals import is_imprecise
from neelc.plan.join_plan import join_plan
from neelc.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.plan.match_to_plan import CONTIGUITY
from neelc.plan.unsupported import Unsupported
from neelc.rewrite.keys import Key, partition_keys
from neelc.rewrite.shortcuts import Shortcut


@dataclass(frozen=True)
class Task:
    """A query to be planned: its keys, its unit of time, what it reads, and the name of its result.
    `written` is the query as it was before rewriting."""

    query: Match
    keys: tuple[Key, ...]
    unit: str
    sources: Sources
    name: str
    as_stream: bool
    written: Match
    push_in: bool = True
    shortcuts: tuple[Shortcut, ...] = ()
    chunked: bool = False
    most_matches: int | None = None


def _kernel(task: Task, taken: set[str]) -> Iterator[Let]:
    if is_imprecise(task.query):
        return _imprecise(task, taken)
    changed = None if task.push_in else judged_last
    planned = kernel_plan(task.query, task.keys, task.unit, changed, shortcuts=task.shortcuts)
    return _in_kernel(task, task.query, planned, taken)


def _in_kernel(task: Task, query: Match, planned: KernelPlan, taken: set[str]) -> Iterator[Let]:
    return kernel_relations(
        query, planned, task.sources, taken, task.name, task.as_stream, task.chunked, task.most_matches
    )


def _imprecise(task: Task, taken: set[str]) -> Iterator[Let]:
    """Matches with their confidence. Where the rewritten query cannot be weighed, the one that is written may
    be."""
    try:
        query, planned = task.query, imprecise_plan(task.query, task.keys, task.unit)
    except Unsupported:
        query, planned = task.written, imprecise_plan(task.written, partition_keys(task.written), task.unit)
    return imprecise_relations(
        query, planned, task.sources, taken, task.name, task.as_stream, task.chunked, task.most_matches
    )


def _join(task: Task, taken: set[str]) -> Iterator[Let]:
    planned = join_plan(task.query, task.keys, task.unit)
    return iter(join_relations(task.query, planned, task.sources, taken, task.name, task.as_stream))


def _window(task: Task, taken: set[str]) -> Iterator[Let]:
    planned = join_plan(task.query, task.keys, task.unit, contiguous=task.query.strategy in CONTIGUITY)
    return iter(window_relations(task.query, planned, task.sources, taken, task.name, task.as_stream))


def _nested(task: Task, taken: set[str]) -> Iterator[Let]:
    """The query as it is written, with the kernel, but without any of what makes it fast."""
    planned = kernel_plan(task.written, partition_keys(task.written), task.unit, iterative, nested=True)
    return _in_kernel(task, task.written, planned, taken)


def _counting(task: Task, taken: set[str]) -> Iterator[Let]:
    """Aggregates over matches without the matches; raises `Unsupported` where those are needed."""
    for query, keys in ((task.query, task.keys), (task.written, partition_keys(task.written))):
        found = aggregate_plan(query, keys, task.unit)
        if found is not None and not task.as_stream:
            return aggregate_relations(query, found, task.sources, taken, task.name, task.chunked)
    raise Unsupported("counting matches that must be enumerated")


PRICED = ("kernel", "window", "join")
"""Those to choose from. `nested` is a baseline: it can do nothing that the kernel cannot."""

STRATEGIES: dict[str, Callable[[Task, set[str]], Iterator[Let]]] = {
    "kernel": _kernel,
    "window": _window,
    "join": _join,
    "nested": _nested,
    "counting": _counting,
}


@dataclass(frozen=True)
class Price:
    """What a strategy is expected to cost; or why it cannot execute the query."""

    strategy: str
    work: float | None = None
    refusal: str = ""


@dataclass(frozen=True)
class Planned:
    """The relations of a query under the strategy that was taken, and what was considered."""

    strategy: str
    lets: tuple[Let, ...]
    prices: tuple[Price, ...]


def planned(task: Task, strategy: str, taken: set[str]) -> Planned:
    """A query under one strategy; raises `Unsupported`. Names are taken only if it succeeds."""
    names = set(taken)
    lets = tuple(STRATEGIES[strategy](task, names))
    taken |= names
    return Planned(strategy, lets, (Price(strategy),))


def cheapest(task: Task, estimate: Estimate, taken: set[str]) -> Planned:
    """A query under the strategy of the least work; raises `Unsupported` if none can execute it."""
    if task.query.aggregated and task.push_in and _pays_to_count(task.query, estimate):
        with suppress(Unsupported):
            return planned(task, "counting", taken)
    found: list[tuple[float, Planned, set[str]]] = []
    prices: list[Price] = []
    refusals: list[Unsupported] = []
    for strategy in PRICED:
        names = set(taken)
        try:
            one = planned(task, strategy, names)
        except Unsupported as refusal:
            refusals.append(refusal)
            prices.append(Price(strategy, refusal=refusal.what))
            continue
        work = strategy_work(strategy, estimate, _shape(one.lets))
        prices.append(Price(strategy, work))
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


def _shape(lets: tuple[Let, ...]) -> Shape:
    """How many joins and window functions a plan has."""
    joins = sum(isinstance(let.relation, Join) for let in lets)
    texts = [text for let in lets if isinstance(let.relation, Extend) for text, _ in let.relation.items]
    return Shape(joins + 1, sum(" OVER (" in text for text in texts))
