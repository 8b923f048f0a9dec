"""What each strategy costs for a query, from the estimate that was made for its search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

from neelc.cost import weights as w
from neelc.cost.estimate import Estimate

COPIES = 3
"""A join finds events by buckets of one window: each stands in its own bucket and in its neighbours."""


@dataclass(frozen=True)
class Shape:
    """What matters of a plan: how many events a match and its checks take, each one join but the first; how
    many window functions there are."""

    takes: int
    functions: int = 0


def strategy_work(strategy: str, estimate: Estimate, shape: Shape) -> float:
    """The expected work of a strategy, in units of one row scanned."""
    return _WORKS[strategy](estimate, shape)


def _kernel(estimate: Estimate, shape: Shape) -> float:
    return estimate.work


def _join(estimate: Estimate, shape: Shape) -> float:
    """Each join reads the events again, brings both sides together by key and bucket, and sorts them."""
    joins = max(1, shape.takes - 1)
    events = COPIES * estimate.rows_sorted / max(1, shape.takes)
    partial = estimate.partial_matches / max(1, shape.takes)
    return (
        shape.takes * estimate.rows_scanned * w.SCAN_ROW
        + joins * _brought_together(events + partial, estimate)
        + sum(step.tried for step in estimate.steps) * w.JOIN_PAIR
        + _produced(estimate)
    )


def _window(estimate: Estimate, shape: Shape) -> float:
    """One sort, and a pass over the sorted rows for each function."""
    rows = estimate.rows_sorted
    functions = rows * max(1, shape.functions) * w.WINDOW_ROW
    return (
        estimate.rows_scanned * w.SCAN_ROW
        + _brought_together(rows, estimate)
        + functions
        + _produced(estimate)
    )


def _brought_together(rows: float, estimate: Estimate) -> float:
    width = estimate.bytes_shuffled / estimate.rows_sorted if estimate.rows_sorted else 0.0
    return rows * (w.SHUFFLE_ROW + width * w.SHUFFLE_BYTE + log2(max(2.0, rows)) * w.SORT_COMPARISON)


def _produced(estimate: Estimate) -> float:
    return estimate.rows_produced * w.PRODUCE_ROW


_WORKS: dict[str, Callable[[Estimate, Shape], float]] = {"kernel": _kernel, "window": _window, "join": _join}
