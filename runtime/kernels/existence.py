"""Absent and Present: which rows can steps extend?

One way is enough, and rows that look alike are tried once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.distinct import distinct
from neelc.runtime.kernels.events import Truths
from neelc.runtime.kernels.frontier import Frontier
from neelc.runtime.kernels.players import Search
from neelc.runtime.kernels.taking import ROW
from neelc.runtime.program import ALL, ANY, Step, Take

Run = Callable[[Search, tuple[Step, ...], Frontier], Iterator[Frontier]]


def extended(search: Search, steps: tuple[Step, ...], frontier: Frontier, run: Run) -> Truths:
    """The rows that the steps can extend."""
    if search.program.nested:
        return _one_by_one(search, steps, frontier, run)
    inner = frontier.only(mentions.of_steps(steps))
    rows, like = None, None
    if len(inner.variables) < len(frontier.variables) and len(frontier) > 1 and not inner.totals:
        codes = (lists.codes() for lists in inner.lists.values())
        rows, like = distinct([inner.segment, *inner.variables.values(), *inner.marks.values(), *codes])
        inner = inner.take(rows)
    found = np.zeros(len(inner), bool)
    for piece in run(_looking(search), settled(steps), inner.marked(ROW, np.arange(len(inner)))):
        found[piece.marks[ROW]] = True
    return found if like is None else found[like]


def _looking(search: Search) -> Search:
    return replace(search.unowned(), prunes=True)


def _one_by_one(search: Search, steps: tuple[Step, ...], frontier: Frontier, run: Run) -> Truths:
    """The same, as iterative nested execution does it: for every row, all that the steps find."""
    found = np.zeros(len(frontier), bool)
    for piece in run(search.unowned(), steps, frontier.marked(ROW, np.arange(len(frontier)))):
        found[piece.marks[ROW]] = True
    return found


@lru_cache(maxsize=1024)
def settled(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Where no later step asks which event was taken, any will do.

    >>> [step.pick for step in settled((Take("x", "A"), Take("y", "B", differs=("x",))))]
    ['ALL', 'ANY']
    """
    return tuple(
        replace(step, pick=ANY)
        if isinstance(step, Take) and step.variable not in mentions.of_steps(steps[place + 1 :])
        else step
        for place, step in enumerate(steps)
    )


def pruned(frontier: Frontier, step: Step, later: tuple[Step, ...]) -> Frontier:
    """The rows after an inner step, without what no later step asks for, each once."""
    kept = frontier.only({ROW, *mentions.of_steps(later)})
    if len(kept.variables) == len(frontier.variables) or not (isinstance(step, Take) and step.pick == ALL):
        return kept
    rows, _ = distinct([kept.segment, *kept.marks.values(), *kept.variables.values()])
    return kept if len(rows) == len(kept) else kept.take(np.sort(rows))
