"""Which events are drawn where there are more than a picture shows: nothing is left out without a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neelc.report.picture import Lane, Shown, lane_of
from neelc.runtime.reference.events import in_order
from neelc.runtime.reference.model import Event, comparable


@dataclass(frozen=True)
class Part:
    """The events to draw: those of some lanes; of a single lane too large for the picture, those that start
    at `since` or later."""

    lanes: tuple[Lane, ...]
    since: int | None = None


def chosen_part(counts: Mapping[Lane, int], matched: Mapping[Lane, int], most: int) -> Part:
    """The lanes to draw, those with matches first, as many as fit; the first one in part if it does not.

    `counts` has the events of each lane, `matched` when the first match of a lane starts.

    >>> chosen_part({("a",): 5, ("b",): 9, ("c",): 4}, {("c",): 0}, 10).lanes
    (('c',), ('a',))
    >>> chosen_part({("a",): 5, ("b",): 90}, {("b",): 7}, 10)
    Part(lanes=(('b',),), since=7)
    """
    order = sorted(counts, key=lambda lane: (lane not in matched, str(lane)))
    chosen: list[Lane] = []
    left = most
    for lane in order:
        if counts[lane] <= left:
            chosen.append(lane)
            left -= counts[lane]
        elif not chosen:
            return Part((lane,), matched.get(lane))
    return Part(tuple(chosen))


def shown_events(
    events: Iterable[Event], keys: Mapping[str, Sequence[str]], matched: Mapping[Lane, int], most: int
) -> Shown:
    """Of all events those that are drawn."""
    ordered = in_order(events)
    lanes: dict[Lane, list[Event]] = {}
    for event in ordered:
        lanes.setdefault(hashable(lane_of(event, keys)), []).append(event)
    if len(ordered) <= most:
        return Shown(ordered, len(ordered), len(lanes))
    if not keys:
        return cut(ordered, len(ordered), len(lanes), min(matched.values(), default=None), most)
    part = chosen_part({lane: len(found) for lane, found in lanes.items()}, matched, most)
    kept = in_order(event for lane in part.lanes for event in lanes[lane])
    if len(kept) <= most:
        return Shown(kept, len(ordered), len(lanes))
    return cut(kept, len(ordered), len(lanes), part.since, most)


def cut(events: Sequence[Event], total: int, lanes: int | None, since: int | None, most: int) -> Shown:
    """The first events that start at `since` or later, in order of time."""
    kept = [event for event in events if since is None or event.start >= since][:most]
    return (
        Shown(tuple(kept), total, lanes, kept[0].start, kept[-1].start) if kept else Shown((), total, lanes)
    )


def hashable(lane: Lane) -> Lane:
    """A lane as a value that sets can hold: NaN is one value.

    >>> hashable((float("nan"), [1]))
    (('NaN',), (1,))
    """
    return tuple(comparable(value) for value in lane)
