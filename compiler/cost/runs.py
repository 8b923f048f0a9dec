"""SKIP TILL NEXT MATCH and the contiguities: one run from each first event, never a choice.

An event that qualifies must be taken, so a run goes one way, and work is linear in the events of a window
where it is a product of them under SKIP TILL ANY MATCH. Splits, where an event fits a list and what follows
it, are rare.
"""

from __future__ import annotations

from dataclasses import dataclass

from neelc.cost.dropped import is_filter
from neelc.cost.gaps import Gap, occurs, room
from neelc.cost.growth import Growth
from neelc.cost.region import Judged, Region
from neelc.cost.steps import EXTEND, Place, Step
from neelc.cost.ways import NOTHING, Ways, either, events, in_sequence, logarithm
from neelc.ir import pattern as p
from neelc.ir.parts import may_be_empty, targets

NEXT_MATCH = "SKIP TILL NEXT MATCH"


@dataclass
class Runs(Growth):
    """A search by runs; negations are judged on complete matches, as any.

    Each of 10 A in a window starts a run, and most find a B.

    >>> from neelc.cost.ledger import Ledger
    >>> from neelc.cost.setting import Setting
    >>> from neelc.cost.statistics import Statistics
    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, B b) WITHIN 10 SECONDS USING SKIP TILL NEXT MATCH")
    >>> setting = Setting(Ledger(match, Statistics()))
    >>> round(Runs(setting).region(Region(setting, match.pattern), Place()).ways.number, 3)
    10.0
    """

    def part(self, region: Region, part: p.Pattern, at: Place) -> Ways:
        match part:
            case p.Or(parts):
                return either([self._inner(region, inner, at).ways for inner in parts])
            case p.Seq(parts):
                return self._chain(region, parts, at)
        return self._chain(region, (part,), at)

    def _chain(self, region: Region, parts: tuple[p.Pattern, ...], at: Place) -> Ways:
        present = tuple(part for part in parts if not is_filter(part))
        # What may be absent neither starts a run nor ends it, unless there is nothing else.
        steps = tuple(part for part in present if not may_be_empty(part)) or present
        gap = Gap(at.span, max(1.0, sum(map(room, steps))))
        region.filters += [(part, gap, at.same) for part in parts if is_filter(part)]
        looked = sum(self._count(part) for part in steps)
        start = waiting = alive = NOTHING
        counts: list[float] = []
        for place, part in enumerate(steps):
            found = region.bind(*targets(part), listed=isinstance(part, p.Repeat))
            count = events(self._count(part)).plus(_left(found)).number
            if place == 0:
                start = alive = events(count)
                tried = start
            else:
                tried = alive.plus(self._looks(looked))
                chance, waiting = self._reached(count, waiting, counts)
                alive = start.times(chance)
            is_last = place == len(steps) - 1
            alive = alive.times(self._elements(part, count, is_last))
            self.steps.append(Step(EXTEND, str(part), tried, alive, found.comparisons))
            region.necessary.append(count)
        return alive

    def _reached(self, count: float, waiting: Ways, counts: list[float]) -> tuple[float, Ways]:
        """The chance that a run comes as far as this component, and what it has waited for."""
        counts.append(count)
        waiting = in_sequence(waiting, events(count))
        if self.setting.query.strategy == NEXT_MATCH:
            return occurs(waiting, counts, 1.0), waiting
        next_one = [min(1.0, one / self._all) for one in counts]
        return Ways(sum(map(logarithm, next_one))).number, waiting

    @property
    def _all(self) -> float:
        """Events of all types in a window: what contiguity is about."""
        return max(self.setting.stream_rate * self.setting.window, 1e-9)

    def _looks(self, looked: float) -> float:
        """How many events a run looks at before it goes on."""
        return logarithm(max(1.0, looked)) if self.setting.query.strategy == NEXT_MATCH else 0.0

    def _elements(self, part: p.Pattern, count: float, is_last: bool) -> float:
        """Matches by run: a list at the end gives one for each of its prefixes (docs/decisions/0012)."""
        if not isinstance(part, p.Repeat) or not is_last:
            return 1.0
        longest = float(part.most or 1e12)
        if self.setting.query.strategy != NEXT_MATCH:
            share = min(0.999, count / self._all)
            return max(1.0, min(longest, 1 / (1 - share)))
        return max(1.0, min(longest, count))

    def _count(self, part: p.Pattern) -> float:
        """Events in a window that a component can take; of a composite list, those of its first type."""
        match part:
            case p.Event(type):
                return self.setting.count(type) * self.setting.left_by_shortcuts(part.variable or "")
            case p.Repeat(inner) | p.Optional(inner):
                return self._count(inner)
            case p.Seq(parts) | p.And(parts) | p.AndNeg(parts):
                return min((self._count(inner) for inner in parts if not is_filter(inner)), default=1.0)
            case p.Or(parts):
                return sum(map(self._count, parts))
        return 1.0


def _left(found: Judged) -> float:
    """What conditions leave of the events: here all of them decide whether an event qualifies."""
    return found.once.both + found.each.both
