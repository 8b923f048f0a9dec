"""Scopes: the intervals of time that parts are judged in, and how far a window reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from neelc.runtime.reference.model import Event


@dataclass(frozen=True)
class Scope:
    """An interval of time, both ends included.

    Times are whole numbers, so an open end is the closed one a nanosecond further in: after `t` is from `t
    + 1`.
    """

    low: float = -math.inf
    high: float = math.inf

    def __and__(self, other: Scope) -> Scope:
        return Scope(max(self.low, other.low), min(self.high, other.high))

    def contains(self, event: Event) -> bool:
        """An event is inside when all of its valid time is."""
        return self.low <= event.start and event.end <= self.high


EVERYWHERE = Scope()
NOWHERE = Scope(math.inf, -math.inf)


@dataclass(frozen=True)
class Extent:
    """ "The start (end) of a match is the least `ts` (greatest `te`) of all events bound in it"; so of a
    part."""

    start: int
    end: int


def extent(events: Sequence[Event]) -> Extent | None:
    """The extent of some events; a part that binds none takes no room."""
    if not events:
        return None
    return Extent(min(event.start for event in events), max(event.end for event in events))


def in_sequence(extents: Sequence[Extent | None]) -> bool:
    """ "Each ends strictly before the next one starts"; what takes no room is skipped.

    >>> in_sequence([Extent(1, 2), None, Extent(3, 3)]), in_sequence([Extent(1, 2), Extent(2, 3)])
    (True, False)
    """
    solid = [extent for extent in extents if extent]
    return all(left.end < right.start for left, right in pairwise(solid))


def room(extents: Sequence[Extent | None], place: int, scope: Scope) -> Scope:
    """ "A part's scope runs, open, from the end of the positive part before it to the start of the positive
    part after it; the first (last) part's scope begins (ends) where the SEQ's own scope does."

    >>> room([Extent(1, 2), None, Extent(9, 9)], 1, Scope())
    Scope(low=3, high=8)
    """
    low = max((extent.end + 1 for extent in extents[:place] if extent), default=scope.low)
    high = min((extent.start - 1 for extent in extents[place + 1 :] if extent), default=scope.high)
    return Scope(low, high)


def between(left: Extent | None, right: Extent | None) -> Scope:
    """AND_NEG: "strictly between a and b, whichever comes first"; nothing lies between parts that overlap, or
    beside one that is absent.

    >>> between(Extent(7, 8), Extent(1, 2)), between(Extent(1, 5), Extent(3, 6)) == NOWHERE
    (Scope(low=3, high=6), True)
    """
    if left is None or right is None:
        return NOWHERE
    first, second = sorted((left, right), key=lambda extent: extent.start)
    return Scope(first.end + 1, second.start - 1) if first.end < second.start else NOWHERE
