"""Windows: how long an event stays valid (JEPC thesis, 6.3.2 and 7.3)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir import algebra as a
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import comparable
from neelc.runtime.reference.valid import FOREVER, Time, Valid
from neelc.runtime.reference.windows import length


def time_window(window: a.TimeWindow, event: Valid) -> Valid:
    """At an instant t an event of the instant u is valid if t - w < u <= t; if the window jumps, t is cut to
    the last multiple of the jump: "making the granularity of the time domain coarser".

    So it is valid from the first multiple that is not before u, until the first that is not before u + w.
    """
    jump = a.instant(window.clock) if window.jump is None else length(window.jump)
    last = event.end - a.instant(window.clock)
    return replace(
        event, start=not_before(event.start, jump), end=not_before(last + length(window.size), jump)
    )


def not_before(time: Time, step: int) -> Time:
    """The first multiple of `step` that is not before a time.

    >>> [not_before(time, 10) for time in (-11, -10, 0, 1)]
    [-10, -10, 0, 10]
    """
    return time if time == FOREVER else -(-time // step) * step


def count_window(window: a.CountWindow, events: Sequence[Valid]) -> Iterator[Valid]:
    """ "First partitions an event stream and then applies a window to each partition separately"."""
    partitions: dict[object, list[Valid]] = {}
    for event in events:
        key = tuple(comparable(evaluate(one, event.context)) for one in window.partition)
        partitions.setdefault(key, []).append(event)
    for partition in partitions.values():
        yield from _counted(window, partition)


def _counted(window: a.CountWindow, events: Sequence[Valid]) -> Iterator[Valid]:
    """With c(t) for the number of events up to t, those of t included: at t an event of the instant
    u is valid if c(t) - N < c(u) <= c(t); if the window jumps, c(t) is cut to the last multiple of the jump.

    Simultaneous events have one c, so they come and go together: docs/decisions/0041.
    """
    starts = sorted(event.start for event in events)
    counts = [bisect_right(starts, time) for time in starts]
    shown = [count // window.jump * window.jump for count in counts]
    for event in events:
        own = bisect_right(starts, event.start)
        begins = (time for time, count in zip(starts, shown, strict=True) if own <= count)
        ends = (time for time, count in zip(starts, shown, strict=True) if own <= count - window.size)
        yield replace(event, start=next(begins, FOREVER), end=next(ends, FOREVER))
