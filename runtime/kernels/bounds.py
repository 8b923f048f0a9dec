"""Where the next event may lie, for each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neelc.runtime.kernels.events import Numbers
from neelc.runtime.kernels.frontier import Frontier
from neelc.runtime.kernels.timeline import FAR, LONGEST, Axis, Timeline
from neelc.runtime.program import Between, Bounds


@dataclass(frozen=True, eq=False)
class Room:
    """On one axis, for each row: an event starts at `start` or later and ends at `end` or earlier.

    All bounds have this form, which is what makes them cheap: whether an event is too early depends on its
    start alone, and whether it is too late on its end alone.
    """

    start: Numbers
    end: Numbers


def rooms(bounds: Bounds, frontier: Frontier, timeline: Timeline) -> tuple[Room, Room | None]:
    """The room in times, and in places if a window counts events."""
    time = _room(bounds, frontier, timeline.time, counted=False)
    if not any(within.counted and within.events for within in bounds.within):
        return time, None
    assert timeline.place is not None, "a window counts, but the events are not counted"
    return time, _room(bounds, frontier, timeline.place, counted=True)


def _room(bounds: Bounds, frontier: Frontier, axis: Axis, counted: bool) -> Room:
    start, end = axis.low[frontier.segment], axis.high[frontier.segment]
    if not counted:
        start, end = _ordered(bounds, frontier, axis, start, end)
    for within in bounds.within:
        if within.counted == counted:
            width = max(-LONGEST, min(within.width, LONGEST))
            start = np.maximum(start, latest(within.events, frontier, axis) - width)
            end = np.minimum(end, earliest(within.events, frontier, axis) + width)
    return Room(start, end)


def _ordered(
    bounds: Bounds, frontier: Frontier, axis: Axis, start: Numbers, end: Numbers
) -> tuple[Numbers, Numbers]:
    if bounds.after:
        start = np.maximum(start, latest(bounds.after, frontier, axis) + 1)
    if bounds.before:
        end = np.minimum(end, earliest(bounds.before, frontier, axis) - 1)
    for between in bounds.between:
        gap = _gap(between, frontier, axis)
        start, end = np.maximum(start, gap.start), np.minimum(end, gap.end)
    return start, end


def _gap(between: Between, frontier: Frontier, axis: Axis) -> Room:
    """Between the two groups; no room where they overlap or one of them is empty."""
    one, other = between.one, between.other
    ends = latest(one, frontier, axis), latest(other, frontier, axis)
    starts = earliest(one, frontier, axis), earliest(other, frontier, axis)
    full = (ends[0] > -FAR) & (ends[1] > -FAR)
    forwards, backwards = full & (ends[0] < starts[1]), full & (ends[1] < starts[0])
    start = np.where(forwards, ends[0], np.where(backwards, ends[1], FAR))
    end = np.where(forwards, starts[1], np.where(backwards, starts[0], -FAR))
    return Room(start + 1, end - 1)


def latest(variables: tuple[str, ...], frontier: Frontier, axis: Axis) -> Numbers:
    """The latest end of the events of a group, -FAR where it has none."""
    result = np.full(len(frontier), -FAR)
    for numbers in _bound(variables, frontier):
        np.maximum(result, np.where(numbers < 0, -FAR, axis.end[numbers]), out=result)
    return result


def earliest(variables: tuple[str, ...], frontier: Frontier, axis: Axis) -> Numbers:
    """The earliest start of the events of a group, FAR where it has none."""
    result = np.full(len(frontier), FAR)
    for numbers in _bound(variables, frontier):
        np.minimum(result, np.where(numbers < 0, FAR, axis.start[numbers]), out=result)
    return result


def _bound(variables: tuple[str, ...], frontier: Frontier) -> list[Numbers]:
    return [frontier.variables[name] for name in variables if name in frontier.variables]
