"""What a picture says of itself in words: how much there is, and what of it is drawn."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.report.choosing import hashable
from neelc.report.picture import Picture
from neelc.report.texts import counted, lane_text, time_text
from neelc.runtime.reference.model import bound_events


def summary(picture: Picture) -> str:
    """The sentence on top: matches among events."""
    events = counted(picture.shown.total, "event")
    if len(picture.panels) > 1:
        totals = [panel.total for panel in picture.panels if panel.problem is None]
        if not totals:
            return f"No strategy is defined for this pattern; {events}."
        return f"The same {events} under {counted(len(totals), 'strategy', 'strategies')}: {_range(totals)}."
    (panel,) = picture.panels
    return f"{panel.counted} among {events}." if panel.words else f"{events}."


def _range(totals: list[int]) -> str:
    low, high = min(totals), max(totals)
    return f"{'' if low == high else f'{low:,} to '}{counted(high, 'match', 'matches')}"


def facts(picture: Picture) -> dict[str, str]:
    """Lanes, matches and time."""
    shown = picture.shown
    found: dict[str, str] = {}
    if picture.keys:
        lanes = {hashable(picture.lane(event)) for event in shown.events}
        matched = {
            hashable(picture.lane(event))
            for panel in picture.panels
            for one in panel.found
            for event in bound_events(one.binding)
        }
        key = ", ".join(next(iter(picture.keys.values())))
        held = f", {len(matched):,} of them with matches" if matched else ""
        found["lanes"] = f"by {key}: {len(lanes):,}{held}"
    else:
        why = ": nothing ties all events of a match to one key" if picture.panels[0].words else ""
        found["lanes"] = f"by type{why}"
    if shown.events:
        last = max(event.end for event in shown.events)
        found["time"] = (
            f"{time_text(shown.events[0].start, picture.clock)} to {time_text(last, picture.clock)}"
        )
    if picture.remarks:
        found["notes"] = counted(len(picture.remarks), "note")
    return found


def limits(picture: Picture) -> Iterator[str]:
    """What is not drawn; nothing is left out without a word."""
    shown = picture.shown
    if picture.is_partial:
        yield "WITH PARTIAL MATCHES: only complete matches are drawn."
    if len(shown.events) < shown.total:
        yield f"{len(shown.events):,} of {counted(shown.total, 'event')} are drawn: {_which(picture)}."
    for panel in picture.panels:
        if len(panel.found) < panel.total:
            name = f"{panel.title}: " if len(picture.panels) > 1 else ""
            yield f"{name}{len(panel.found):,} of {panel.counted} are drawn."


def _which(picture: Picture) -> str:
    shown = picture.shown
    lanes = {hashable(lane): lane for lane in map(picture.lane, shown.events)}
    of = "" if shown.lanes is None else f" of {shown.lanes:,}"
    if shown.since is not None and shown.until is not None:
        since, until = (time_text(time, picture.clock) for time in (shown.since, shown.until))
        where = f"of {lane_text(next(iter(lanes.values())))}, " if picture.keys else ""
        return f"those {where}from {since} to {until}"
    return f"{len(lanes):,}{of} keys, those with matches first"
