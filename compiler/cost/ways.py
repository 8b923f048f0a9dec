"""In how many ways the events of one window can be bound: counting, in logarithms.

Events come at random and independently of each other (a Poisson process), so a part that binds n events of
rates r1 .. rn in a window w has on average r1*w * .. * rn*w * f ways, where f is the share of the orders of
n events that the part allows: 1 for AND, 1/n! for SEQ. NEEL+ takes 1/2 for each pair of neighbours (its
Pt), which is the same for two events and too much for more: three events in order are one in six, not one
in four.

Numbers of ways grow exponentially, with Kleene closures doubly so; their logarithms do not overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, log

LEAST, MOST = -230.0, 230.0
"""Logarithms of the least and the greatest number given out: 1e-100 to 1e100. Sums and products of a few of
them are still numbers."""


@dataclass(frozen=True)
class Ways:
    """The logarithm of a number of ways, and how many events each of them binds, on average."""

    log: float
    events: float = 0.0

    @property
    def number(self) -> float:
        """
        >>> Ways(0.0).number, Ways(1e9).number < 1e101, Ways(-1e9).number > 0
        (1.0, True, True)
        """
        return exp(min(MOST, max(LEAST, self.log)))

    def times(self, share: float) -> Ways:
        """The ways that are left when only a share of them is good."""
        return Ways(self.log + logarithm(share), self.events)

    def plus(self, log_share: float) -> Ways:
        """The same, with the logarithm of the share."""
        return Ways(self.log + log_share, self.events)

    def shrunk(self, share: float) -> Ways:
        """The ways in a shorter scope, a share of the window: each event must fall into it.

        >>> round(events(6.0).shrunk(0.5).number, 9)
        3.0
        """
        return self.plus(self.events * logarithm(share))


NOTHING = Ways(0.0, 0.0)
"""The one way to bind no event."""


def logarithm(share: float) -> float:
    """The logarithm, with that of a very small number for zero."""
    return max(LEAST, log(share)) if share > 0 else LEAST


def events(count: float) -> Ways:
    """One event out of `count`."""
    return Ways(logarithm(count), 1.0)


def in_sequence(one: Ways, two: Ways) -> Ways:
    """Both, all events of one before all of two.

    >>> pair = in_sequence(events(4.0), events(6.0))
    >>> round(pair.number, 9), round(in_sequence(pair, events(3.0)).number, 9)  # 24/2, 72/6
    (12.0, 12.0)
    """
    together = one.events + two.events
    shuffles = lgamma(together + 1) - lgamma(one.events + 1) - lgamma(two.events + 1)
    return Ways(one.log + two.log - shuffles, together)


def in_any_order(one: Ways, two: Ways) -> Ways:
    """Both, in any order.

    >>> round(in_any_order(events(4.0), events(6.0)).number, 9)
    24.0
    """
    return Ways(one.log + two.log, one.events + two.events)


def either(parts: Sequence[Ways]) -> Ways:
    """One of several: their ways add up.

    >>> found = either([events(4.0), in_any_order(events(2.0), events(2.0))])
    >>> round(found.number, 9), found.events
    (8.0, 1.5)
    """
    most = max((part.log for part in parts), default=-inf)
    if most <= LEAST:
        return Ways(LEAST, max((part.events for part in parts), default=0.0))
    weights = [exp(part.log - most) for part in parts]
    mean = sum(weight * part.events for weight, part in zip(weights, parts, strict=True)) / sum(weights)
    return Ways(most + log(sum(weights)), mean)


def widened(part: Ways, share: float) -> Ways:
    """A part that was counted in a window of its own, a share of the whole one: its ways in the whole one.

    n events of a time d lie within a window w of one another in n*d*w^(n-1) - (n-1)*w^n of their d^n
    places. And the narrower the window, the more the part is like one event to what stands around it.

    >>> pair = in_sequence(events(0.4), events(0.6))  # in a tenth of the window: 0.12
    >>> round(widened(pair, 0.1).number, 9), widened(pair, 0.1).events, widened(pair, 1.0) == pair
    (2.28, 1.1, True)
    """
    if share >= 1:
        return part
    if part.events < 1:
        return part.plus(-part.events * logarithm(share))
    more = log(part.events / share - (part.events - 1))
    return Ways(part.log + more, 1 + (part.events - 1) * share)
