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
    """The cost of a query, with each shortcut taken that makes it cheaper, in the order they are found.

    >>> from neelc.cost.statistics_known import Known
    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, AND(B b, C c WHERE c.id = a.id), D d) WITHIN 1 MINUTE RETURN a.x")
    >>> def decided(values):
    ...     few = Statistics((Known("S", "DISTINCT", values, "declared", "C", "id"),))
    ...     for one in shortened(match, few, ()).decisions:
    ...         print(one.shortcut, one.taken, one.reason, sep="; ")
    >>> decided(10)
    a.id IN c.id; True; c.id has 1% as many values as a.id, and that saves 46.5% of the work
    >>> decided(500)
    a.id IN c.id; False; c.id has 50% as many values as a.id, not under 20%
    """
    ledger = Ledger(query, statistics)
    cuts: tuple[Cut, ...] = ()
    best = estimate(query, statistics, cuts, rows=rows, keys=keys)
    decisions: list[ShortcutDecision] = []
    for shortcut in shortcuts(query):
        cut = cut_of(shortcut, ledger)
        if cut is None or cut.share >= MUCH_SMALLER:
            decisions.append(ShortcutDecision(shortcut, False, _reason(shortcut, cut, best, None)))
            continue
        cheaper = estimate(query, statistics, (*cuts, cut), rows=best.rows_produced, keys=keys)
        taken = cheaper.work < best.work
        decisions.append(ShortcutDecision(shortcut, taken, _reason(shortcut, cut, best, cheaper)))
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


def _reason(shortcut: Shortcut, cut: Cut | None, before: Estimate, after: Estimate | None) -> str:
    if cut is None:
        return "how many values its sides have is not known"
    values = f"{shortcut.inner} has {cut.share:.0%} as many values as {shortcut.outer}"
    if after is None:
        return f"{values}, not under {MUCH_SMALLER:.0%}"
    if after.work < before.work:
        return f"{values}, and that saves {1 - after.work / before.work:.1%} of the work"
    return f"{values}, but it would cost {after.work / before.work - 1:.1%} more than it saves"
