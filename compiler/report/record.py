"""A picture as the data of a page: columns of numbers and texts, as few as there can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neelc.ir.moments import UTC, offsets
from neelc.ir.types import TIMESTAMP
from neelc.report.choosing import hashable
from neelc.report.numbering import LaneNumbers, Names, Ticks
from neelc.report.picture import Lane, Picture
from neelc.report.record_matches import Around, panel_record
from neelc.report.texts import text_of
from neelc.runtime.reference.model import Event
from neelc.runtime.reference.reading import ENDLESS
from neelc.runtime.reference.times import EPOCH, MICROSECOND, moment


def record(picture: Picture) -> dict[str, Any]:
    """What the script of a page reads."""
    events = picture.shown.events
    times = [event.start for event in events]
    times += [one.start for panel in picture.panels for one in panel.found if one.start is not None]
    ticks = Ticks(picture.clock, min(times, default=0))
    lanes = LaneNumbers(_lanes(picture))
    around = Around(picture, ticks, lanes, {event: number for number, event in enumerate(events)})
    return {
        "clock": {
            "kind": ticks.kind,
            "unit": ticks.unit,
            "first": str(ticks.first),
            "offsets": _offsets(picture, times),
        },
        "key": [*next(iter(picture.keys.values()), ())],
        "streams": [[name, [c.name for c in columns]] for name, columns in picture.columns.items()],
        "events": _events(picture, ticks, lanes),
        "panels": [panel_record(one, around) for one in picture.panels],
        "notes": [[lanes.place(one.lane), ticks.of(one.time), one.text] for one in picture.remarks],
        "lanes": lanes.texts,
    }


def _offsets(picture: Picture, times: Sequence[int]) -> list[tuple[int, int]]:
    """What the session's clock is ahead of UTC, in microseconds, and from which one on."""
    if picture.clock.type != TIMESTAMP or picture.zone is UTC:
        return []
    lasts = (event.end for event in picture.shown.events if event.end < ENDLESS)
    first, last = min(times, default=0), max((*times, *lasts), default=0)
    found = offsets(*(moment(time, picture.clock) for time in (first, last)))  # type: ignore[arg-type]
    return [((at - EPOCH) // MICROSECOND, offset // MICROSECOND) for at, offset in found]


def _lanes(picture: Picture) -> list[Lane]:
    """The lanes in the order of their values, which the page changes: those with matches come first. Types
    are in the order of the pattern."""
    lanes = {hashable(lane): lane for lane in map(picture.lane, picture.shown.events)}
    ordered = sorted(lanes.values(), key=_order)
    if picture.keys:
        return ordered
    named = {name: place for place, name in enumerate(picture.types)}
    return sorted(ordered, key=lambda lane: named.get(text_of(lane[0]).casefold(), len(named)))


def _order(lane: Lane) -> list[tuple[bool, int, str]]:
    """Numbers as numbers, all else as texts."""
    return [(False, v, "") if isinstance(v, int) else (True, 0, text_of(v)) for v in lane]


def _events(picture: Picture, ticks: Ticks, lanes: LaneNumbers) -> dict[str, Any]:
    events = picture.shown.events
    streams, types = Names(picture.columns), Names()
    lasts = any(event.end != event.start for event in events)
    # What has no end lasts until the last thing that has one.
    last = max((event.end for event in events if event.end < ENDLESS), default=0)
    found: dict[str, Any] = {
        "start": [ticks.of(event.start) for event in events],
        "end": [ticks.of(min(event.end, max(last, event.start))) for event in events] if lasts else None,
        "lane": [lanes.place(picture.lane(event)) for event in events],
        "type": [types.place(text_of(event.type)) for event in events],
        "stream": [streams.place(event.stream) for event in events],
        "values": [_values(event, picture) for event in events],
    }
    named = {name: place for place, name in enumerate(picture.types)}
    rank = [[name, named.get(name.casefold(), -1)] for name in types.places]
    return found | {"types": rank}


def _values(event: Event, picture: Picture) -> list[str]:
    columns = picture.columns[event.stream]
    return [text_of(event.attributes[column.name], column.type) for column in columns]
