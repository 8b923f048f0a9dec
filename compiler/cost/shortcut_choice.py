"""Which shortcuts of inter-query predicates are taken: NEEL+ 4.2, by the statistics."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.cost.estimate import Estimate, estimate
from neelc.cost.ledger import Ledger, term_of
from neelc.cost.setting import Cut
from neelc.cost.statistics import Statistics
from neelc.cost.truth import without_casts
from neelc.ir.expr import Attribute
from neelc.ir.logical import Match
from neelc.rewrite.keys import Key
from neelc.rewrite.shortcuts import Shortcut, shortcuts

MUCH_SMALLER = 0.2
"""NEEL+ 4.2: the inner attribute has less than 20 % as many values as the outer one."""


@dataclass(frozen=True)
class ShortcutDecision:
    """A shortcut that is possible, whether it is taken, and why or why not."""

    shortcut: Shortcut
    taken: bool
    reason: str


@dataclass(frozen=True)
class Shortened:
    """A query's cost with the shortcuts that pay."""

    estimate: Estimate
    decisions: tuple[ShortcutDecision, ...] = ()


def shortened(
    query: Match, statistics: Statistics, keys: tuple[Key, ...], rows: float | None = None
) -> Shortened:
    """The cost of a query, with each shortcut taken that makes it cheaper, in the order they are found."""
    ledger = Ledger(query, statistics)
    cuts: tuple[Cut, ...] = ()
    best = estimate(query, statistics, cuts, rows=rows, keys=keys)
    decisions: list[ShortcutDecision] = []
    for shortcut in shortcuts(query):
        cut = cut_of(shortcut, ledger)
        if cut is None or cut.share >= MUCH_SMALLER:
            decisions.append(ShortcutDecision(shortcut, False, _too_many(cut)))
            continue
        cheaper = estimate(query, statistics, (*cuts, cut), rows=best.rows_produced, keys=keys)
        taken = cheaper.work < best.work
        decisions.append(ShortcutDecision(shortcut, taken, _compared(cut, cheaper, best)))
        if taken:
            cuts, best = (*cuts, cut), cheaper
    return Shortened(best, tuple(decisions))


def cut_of(shortcut: Shortcut, ledger: Ledger) -> Cut | None:
    """The shortcut with its share: how many of the outer values the inner attribute has at most. None where
    that is not known, because a side is not an attribute."""
    outer, inner = without_casts(shortcut.outer), without_casts(shortcut.inner)
    if not isinstance(outer, Attribute) or not isinstance(inner, Attribute):
        return None
    one, two = term_of(outer), term_of(inner)
    share = min(1.0, ledger.distinct(*two) / ledger.distinct(*one))
    return Cut(one, two, share, shortcut.negative)


def _too_many(cut: Cut | None) -> str:
    if cut is None:
        return "how many values its sides have is not known"
    values = f"the inner attribute has {cut.share:.0%} as many values as the outer one"
    return f"{values}, not under {MUCH_SMALLER:.0%}"


def _compared(cut: Cut, cheaper: Estimate, best: Estimate) -> str:
    values = f"the inner attribute has {cut.share:.1%} as many values as the outer one"
    if cheaper.work < best.work:
        return f"{values}, and that saves {1 - cheaper.work / best.work:.1%} of the work"
    return f"{values}, but to keep them up would cost {cheaper.work / best.work - 1:.1%} more than it saves"
