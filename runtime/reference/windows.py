"""WITHIN: whether a window holds for some events, and how far it reaches around them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from neelc.ir.expr import Literal
from neelc.ir.pattern import Window
from neelc.ir.units import LENGTHS
from neelc.runtime.reference.model import Event
from neelc.runtime.reference.question import Question
from neelc.runtime.reference.scopes import EVERYWHERE, Extent, Scope, extent


def reach(question: Question, window: Window | None, events: Sequence[Event]) -> Scope | None:
    """The scope that a window leaves around the events of a part; None when the window does not hold for
    them.

    Without a window, or without an event to measure from, nothing is bounded.
    """
    bounds = extent(events)
    if window is None or bounds is None:
        return EVERYWHERE
    if window.unit == "EVENT":
        return reach_of_count(question, size(window), events[0], bounds)
    return reach_of_time(length(window), bounds)


def reach_of_time(width: int, bounds: Extent) -> Scope | None:
    """ "`WITHIN w` holds when end - start <= w, the end included"; the scope is "[end - w, start + w], both
    included".

    >>> reach_of_time(10, Extent(3, 13)), reach_of_time(9, Extent(3, 13))
    (Scope(low=3, high=13), None)
    """
    if bounds.end - bounds.start > width:
        return None
    return Scope(bounds.end - width, bounds.start + width)


def reach_of_count(question: Question, count: int, event: Event, bounds: Extent) -> Scope | None:
    """ "`WITHIN n EVENTS` holds when at most n events of the FROM streams (of the partition, if any) have a
    `ts` in [start, end]"; the scope is "as far as the extended match would still hold at most n"."""
    starts = question.starts(event)
    first, beyond = bisect_left(starts, bounds.start), bisect_right(starts, bounds.end)
    if beyond - first > count:
        return None
    low = starts[beyond - count - 1] + 1 if beyond > count else EVERYWHERE.low
    high = starts[first + count] - 1 if first + count < len(starts) else EVERYWHERE.high
    return Scope(low, high)


def size(window: Window) -> int:
    """The count of a bound window."""
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), (
        "a bound window has a count"
    )
    return window.count.value


def length(window: Window) -> int:
    """A window of time in nanoseconds.

    >>> from neelc.ir.types import INT
    >>> length(Window(Literal(2, INT), "SECOND"))
    2000000000
    """
    assert window.unit in LENGTHS, f"a window of {window.unit} has no fixed length"
    return size(window) * LENGTHS[window.unit]
