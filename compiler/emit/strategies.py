"""The strategies: how the matches of a query are found, and which of them can find those of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neelc.emit.join_relations import join_relations
from neelc.emit.kernel_relations import kernel_relations
from neelc.emit.relations import Let
from neelc.emit.scans import Sources
from neelc.emit.window_relations import window_relations
from neelc.ir.logical import Match
from neelc.plan.baselines import iterative, judged_last
from neelc.plan.join_plan import join_plan
from neelc.plan.kernel_plan import kernel_plan
from neelc.plan.match_to_plan import CONTIGUITY
from neelc.plan.unsupported import Unsupported
from neelc.rewrite.keys import Key, partition_keys


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


def _kernel(task: Task, taken: set[str]) -> Iterator[Let]:
    changed = None if task.push_in else judged_last
    planned = kernel_plan(task.query, task.keys, task.unit, changed)
    return kernel_relations(task.query, planned, task.sources, taken, task.name, task.as_stream)


def _join(task: Task, taken: set[str]) -> Iterator[Let]:
    planned = join_plan(task.query, task.keys, task.unit)
    return iter(join_relations(task.query, planned, task.sources, taken, task.name, task.as_stream))


def _window(task: Task, taken: set[str]) -> Iterator[Let]:
    planned = join_plan(task.query, task.keys, task.unit, contiguous=task.query.strategy in CONTIGUITY)
    return iter(window_relations(task.query, planned, task.sources, taken, task.name, task.as_stream))


def _nested(task: Task, taken: set[str]) -> Iterator[Let]:
    """The query as it is written, with the kernel, but without any of what makes it fast."""
    planned = kernel_plan(task.written, partition_keys(task.written), task.unit, iterative, nested=True)
    return kernel_relations(task.written, planned, task.sources, taken, task.name, task.as_stream)


STRATEGIES: dict[str, Callable[[Task, set[str]], Iterator[Let]]] = {
    "kernel": _kernel,
    "window": _window,
    "join": _join,
    "nested": _nested,
}


def planned(task: Task, strategy: str, taken: set[str]) -> tuple[Let, ...]:
    """The relations of a query under one strategy; raises `Unsupported`. Names are taken only if it
    succeeds."""
    names = set(taken)
    lets = tuple(STRATEGIES[strategy](task, names))
    taken |= names
    return lets


def cheapest(task: Task, taken: set[str]) -> tuple[str, tuple[Let, ...]]:
    """The first strategy, in the order of their cost, that can execute a query; raises `Unsupported` if
    none can."""
    refusals: list[Unsupported] = []
    for strategy in STRATEGIES:
        if strategy == "nested":
            continue  # a baseline: it can do nothing that the kernel cannot
        try:
            return strategy, planned(task, strategy, taken)
        except Unsupported as refusal:
            refusals.append(refusal)
    raise refusals[0]
