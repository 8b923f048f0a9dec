"""Where a pattern is looked for: how long the input and the window are, and how many events come."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import prod

from neelc.cost.agreement import Spread, Term
from neelc.cost.ledger import Ledger
from neelc.cost.ways import MOST, Ways, logarithm
from neelc.ir.expr import Literal
from neelc.ir.logical import Match, Stream
from neelc.ir.pattern import Window
from neelc.ir.units import LENGTHS

AROUND = ""
"""Stands for any event around a region that an `[id]` there compares with."""
SHORTEST = 1e-9
"""Seconds: times are nanoseconds at best, and no window may be nothing at all."""


@dataclass(frozen=True)
class Cut:
    """A shortcut: of the events of `outer`'s variable only a `share` has a value that `inner` has too,
    NEEL+'s SC. The others are dropped when they are read; where `inner` is negated, they need no check."""

    outer: Term
    inner: Term
    share: float
    negative: bool = False


@dataclass
class Setting:
    """A query and what is known about its streams.

    Events with one of the terms of `keys` are found by it, without looking at others. `cuts` are the
    shortcuts taken. Without `push_in`, conditions are judged on complete bindings only: NEEL+'s basic system.
    """

    ledger: Ledger
    keys: frozenset[Term] = frozenset()
    cuts: tuple[Cut, ...] = ()
    push_in: bool = True

    @property
    def query(self) -> Match:
        return self.ledger.query

    @cached_property
    def duration(self) -> float:
        """Seconds from the first event to the last: what the longest stream takes."""
        lengths = [self._seconds(stream) for stream in self.query.streams]
        return max(SHORTEST, *lengths) if lengths else SHORTEST

    def _seconds(self, stream: Stream) -> float:
        rate = self.ledger.stream_rate(stream)
        return self.ledger.stream_events(stream) / rate if rate > 0 else 0.0

    @cached_property
    def window(self) -> float:
        """Seconds that a match can last: the whole input, if nothing bounds it."""
        return self.seconds(self.query.within)

    def seconds(self, window: Window | None) -> float:
        """A window as time. One of n EVENTS lasts until n events have come, in its partition."""
        if window is None:
            return self.duration
        assert isinstance(window.count, Literal) and isinstance(window.count.value, int)
        if window.unit == "EVENT":
            rate = self.stream_rate / self.partitions
            gaps = max(0.5, window.count.value - 1)  # the first of the n events is there already
            return min(self.duration, max(SHORTEST, gaps / max(rate, 1 / self.duration)))
        assert window.unit is not None
        length = window.count.value * LENGTHS[window.unit] / LENGTHS["SECOND"]
        return min(self.duration, max(SHORTEST, length))

    def share(self, window: Window | None) -> float:
        """The window of a part as a share of the whole one."""
        return 1.0 if window is None else min(1.0, self.seconds(window) / self.window)

    @cached_property
    def stream_rate(self) -> float:
        """Events of all streams in a second, whatever their types."""
        return sum(self.ledger.stream_rate(stream) for stream in self.query.streams)

    @cached_property
    def partitions(self) -> float:
        """How many partitions PARTITION BY makes."""
        variable = next(iter(self.ledger.types), "")
        return prod(self.ledger.distinct(variable, name) for name in self.query.partition)

    def count(self, type: str) -> float:
        """Events of a type in one window: NEEL+'s |S|, before conditions."""
        return self.ledger.rate(type) * self.window

    def windows(self, events: float) -> float:
        """How many windows there are to choose `events` events from: by that, the ways in one window make
        the number in the whole input.

        n events of the whole input lie within a window w of one another in n*d*w^(n-1) - (n-1)*w^n of their
        d^n places.
        """
        number, ratio = max(1.0, events), self.duration / self.window
        return number * ratio - (number - 1)

    def occurrences(self, ways: Ways) -> float:
        """Bindings in the whole input; never more than a number that can be reckoned with."""
        return Ways(min(MOST, ways.log + logarithm(self.windows(ways.events)))).number

    def spread(self, terms: frozenset[Term]) -> Spread:
        """The values of attributes that are equal: those of one are among those of the others, and a value is
        only as common as in the attribute in which it is rarest."""
        if terms not in self._spreads:
            known = [term for term in terms if term[0] in self.ledger.types]
            values = max((self.ledger.distinct(*term) for term in known), default=1.0)
            common = min((self.ledger.most_frequent(*term) for term in known), default=0.0)
            self._spreads[terms] = Spread(values, common)
        return self._spreads[terms]

    @cached_property
    def _spreads(self) -> dict[frozenset[Term], Spread]:
        return {}

    def left_by_shortcuts(self, variable: str) -> float:
        """The share of a variable's events that the shortcuts leave."""
        return prod(cut.share for cut in self.cuts if cut.outer[0] == variable and not cut.negative)

    def left_to_check(self, names: Collection[str]) -> float:
        """The share of matches for which a negation of these variables must be checked."""
        return prod(cut.share for cut in self.cuts if cut.inner[0] in names and cut.negative)

    def agreement(self, term: Term, group: frozenset[Term], bound: Collection[Term]) -> float:
        """How often an event has the same value of `term` as those of `bound`; both in a group of equals.

        What a shortcut has dropped cannot be dropped again by the equality that it anticipates.
        """
        share = self.spread(group).agreement(max(1, len(bound)))
        for cut in self.cuts:
            pair = {cut.outer, cut.inner}
            if not cut.negative and term in pair and pair <= {term, *bound}:
                share = min(1.0, share / cut.share)
        return share
