"""The times of all segments on one line, one segment behind the other.

A range of times within a segment is then a range on this line, and one binary search finds the events in it
for all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.errors import KernelError
from neelc.runtime.kernels.events import Events, Numbers, part

# All places on the line, all widths of windows and their sums and differences fit into 64 bits.
LONGEST = 2**61
FAR = 2**62


@dataclass(frozen=True, eq=False)
class Axis:
    """Where events start and end on the line, and the first and the last place of each segment.

    The last entry of `low` and `high` is for segment -1, which is all of them.
    """

    start: Numbers
    end: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, eq=False)
class Timeline:
    """The line of times, and that of places where events are counted; each segment's first event."""

    first: Numbers
    time: Axis
    place: Axis | None


def firsts(events: Events) -> Numbers:
    """The number of the first event of each segment that has events."""
    segment = events.segment
    return np.flatnonzero(np.concatenate(([True], segment[1:] != segment[:-1])))


def limits(start: Numbers, end: Numbers, first: Numbers) -> tuple[Numbers, Numbers]:
    """The first and the last time of each segment. Imprecise events end before they start: see `relaxed`."""
    latest = np.append(first[1:], len(end)) - 1
    if end is start:
        return start[first], start[latest]
    low, high = np.minimum.reduceat(end, first), np.maximum.reduceat(end, first)
    return np.minimum(start[first], low), np.maximum(start[latest], high)


def spans(start: Numbers, end: Numbers, first: Numbers) -> NDArray[np.uint64]:
    """How long each segment is: as unsigned numbers, in which every difference fits."""
    low, high = limits(start, end, first)
    return high.view(np.uint64) - low.view(np.uint64)


def groups(events: Events) -> Iterator[tuple[int, Events, Timeline]]:
    """Parts of the events that fit on one line each, each with the number of its first event."""
    if not len(events.start):
        return
    first = firsts(events)
    lengths = spans(events.start, events.end, first)
    if (lengths >= LONGEST).any():
        number = int(np.argmax(lengths >= LONGEST))
        message = (
            f"the events of one key are {int(lengths[number])} units of time apart, {LONGEST - 1} is the most"
        )
        raise KernelError("MAX_SPAN", message, int(events.segment[first[number]]))
    if float(lengths.astype(np.float64).sum()) + len(first) < LONGEST / 2:
        yield 0, events, timeline(events, first)
        return
    begin, total = 0, 0
    for number, length in zip(first.tolist(), lengths.tolist(), strict=True):
        if total + length + 1 > LONGEST:
            yield _group(events, begin, number)
            begin, total = number, 0
        total += length + 1
    yield _group(events, begin, len(events.start))


def _group(events: Events, begin: int, end: int) -> tuple[int, Events, Timeline]:
    cut = part(events, begin, end)
    return begin, cut, timeline(cut, firsts(cut))


def axis(start: Numbers, end: Numbers, segment: Numbers, first: Numbers) -> Axis:
    """
    >>> import numpy as np
    >>> times = np.array([7, 9, -100, -100, -98])
    >>> line = axis(times, times, np.array([0, 0, 1, 1, 1]), np.array([0, 2]))
    >>> line.start.tolist(), line.low.tolist(), line.high.tolist()
    ([0, 2, 3, 3, 5], [0, 3, 0], [2, 5, 5])
    """
    lengths = spans(start, end, first).astype(np.int64)
    beyond = np.cumsum(lengths + 1)
    present = segment[first]
    low = np.zeros(int(present[-1]) + 2, np.int64)
    high = low - 1
    low[present] = beyond - lengths - 1
    high[present] = beyond - 1
    high[-1] = beyond[-1] - 1
    # The shift itself may wrap around; what comes out is right again.
    earliest, _ = limits(start, end, first)
    shift = np.repeat(low[present] - earliest, np.diff(first, append=len(start)))
    starts = start + shift
    return Axis(starts, starts if end is start else end + shift, low, high)


def timeline(events: Events, first: Numbers) -> Timeline:
    time = axis(events.start, events.end, events.segment, first)
    if events.first is None or events.beyond is None:
        return Timeline(first, time, None)
    return Timeline(first, time, axis(events.first, events.beyond, events.segment, first))
