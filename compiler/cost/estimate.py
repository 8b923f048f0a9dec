"""What a plan is expected to cost: a value with a breakdown, not one number."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.cost.facts import Fact


@dataclass(frozen=True)
class Item:
    """One line of a breakdown: `work` is in units of one row scanned."""

    what: str
    work: float


@dataclass(frozen=True)
class Estimate:
    """The expected cost of a query in one form, over the whole input.

    `items` add up to `work`. `facts` are the numbers it rests on, each once.
    """

    rows_scanned: float
    bytes_shuffled: float
    rows_sorted: float
    partial_matches: float
    rows_produced: float
    items: tuple[Item, ...]
    facts: tuple[Fact, ...] = ()

    @property
    def work(self) -> float:
        return sum(item.work for item in self.items)
