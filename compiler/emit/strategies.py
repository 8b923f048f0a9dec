"""The strategies: how the matches of a query are found, and which of them can find those of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neelc.emit.join_relations import join_relations
from neelc.emit.kernel_relations import kernel_relations
from neelc.emit.relations import Let
from neelc.emit.scans import Sources
from neelc.ir.logical import Match
from neelc.plan.join_plan import join_plan
from neelc.plan.kernel_plan import kernel_plan
from neelc.plan.unsupported import Unsupported
from neelc.rewrite.keys import Key


@dataclass(frozen=True)
class Task:
    """A query to be planned: its keys, its unit of time, what it reads, and the name of its result."""

    query: Match
    keys: tuple[Key, ...]
    unit: str
    sources: Sources
    name: str
    as_stream: bool


def _kernel(task: Task, taken: set[str]) -> Iterator[Let]:
    planned = kernel_plan(task.query, task.keys, task.unit)
    return kernel_relations(task.query, planned, task.sources, taken, task.name, task.as_stream)


def _join(task: Task, taken: set[str]) -> Iterator[Let]:
    planned = join_plan(task.query, task.keys, task.unit)
    return join_relations(task.query, planned, task.sources, taken, task.name, task.as_stream)


STRATEGIES: dict[str, Callable[[Task, set[str]], Iterator[Let]]] = {"kernel": _kernel, "join": _join}


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
        try:
            return strategy, planned(task, strategy, taken)
        except Unsupported as refusal:
            refusals.append(refusal)
    raise refusals[0]
