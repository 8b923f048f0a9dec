"""A picture as the data of a page: columns of numbers and texts, as few as there can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from neelc.catalog.inputs import quoted, render
from neelc.ir.algebra import instant
from neelc.ir.allen import name_of, relation
from neelc.ir.names import bare
from neelc.ir.program import Clock
from neelc.ir.types import DATE, TIMESTAMP, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.events import ENDLESS
from neelc.runtime.reference.model import EPOCH, MICROSECOND, ReferenceEvent, bound_events, moment
from neelc.runtime.values.times import UTC, offsets
from neelc.tools.report.picture import (
    TIME_AXIS,
    DrawnMatch,
    Lane,
    LaneMiss,
    Panel,
    Picture,
    Shade,
    hashable,
)

# Values and sentences as a reader of a picture sees them.


def text_of(value: object, type: DataType | None = None) -> str:
    """
    >>> text_of("a b"), text_of(None), text_of(1.5)
    ('a b', 'NULL', '1.5')
    """
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else render(value, type or DATE)


def lane_text(lane: Lane) -> str:
    """What stands beside a lane; events of a stream without the key have none.

    >>> lane_text((7, "x")), lane_text((None,)), lane_text(())
    ('7, x', 'NULL', 'without a key')

    A text that reads as something else stands in quotes.

    >>> lane_text(("",)), lane_text(("NULL",)), lane_text(("a, b",)), lane_text(("a, b", "c"))
    ("''", "'NULL'", 'a, b', "'a, b', c")
    """
    return ", ".join(_part(value, len(lane) > 1) for value in lane) if lane else "without a key"


def _part(value: object, is_one_of_many: bool) -> str:
    if not isinstance(value, str):
        return text_of(value)
    reads_else = value.upper() == "NULL" or value != value.strip() or value.startswith("'")
    return quoted(value) if not value or reads_else or (is_one_of_many and "," in value) else value


def time_text(time: int, clock: Clock) -> str:
    """A time in nanoseconds as its clock writes it.

    >>> from neelc.ir.types import BIGINT, TIMESTAMP
    >>> time_text(3_000_000_000, Clock(BIGINT, "SECOND")), time_text(0, Clock(TIMESTAMP))
    ('3', '1970-01-01 00:00:00')
    """
    return text_of(moment(time, clock))


def counted(number: int, word: str, many: str | None = None) -> str:
    """
    >>> counted(1, "match", "matches"), counted(12000, "event")
    ('1 match', '12,000 events')
    """
    return f"{number:,} {word if number == 1 else many or word + 's'}"


# Times and texts as small numbers.


class Ticks:
    """Times as numbers that a browser counts exactly: ticks of the clock since the first time shown."""

    def __init__(self, clock: Clock, first: int) -> None:
        self.length = instant(clock)
        self.first = first // self.length
        self.kind = "number" if clock.unit else "date" if clock.type == DATE else "time"
        self.unit = clock.unit

    def of(self, time: int | None) -> float | None:
        """
        >>> from neelc.ir.types import BIGINT
        >>> ticks = Ticks(Clock(BIGINT, "MILLISECOND"), 5_000_000)
        >>> ticks.of(7_000_000), ticks.of(7_500_000), ticks.of(None)
        (2, 2.5, None)
        """
        if time is None:
            return None
        since = time - self.first * self.length
        return since // self.length if since % self.length == 0 else since / self.length


class TextNumbers:
    """Texts by their places, in the order in which they come.

    >>> names = TextNumbers(["a"])
    >>> [names.place(text) for text in ("b", "a", "b")], list(names.places)
    ([1, 0, 1], ['a', 'b'])
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.places = {text: place for place, text in enumerate(known)}

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))


class LaneNumbers:
    """Lanes by their places: equal values are one lane, whatever they look like.

    >>> lanes = LaneNumbers([("NULL",), (None,)])
    >>> [lanes.place(lane) for lane in ((None,), ("x",), ("NULL",))], lanes.texts
    ([1, 2, 0], ["'NULL'", 'NULL', 'x'])
    """

    def __init__(self, known: Iterable[Lane] = ()) -> None:
        self.places: dict[Lane, int] = {}
        self.texts: list[str] = []
        for lane in known:
            self.place(lane)

    def place(self, lane: Lane, text: str | None = None) -> int:
        """The number of a lane, which has its values beside it unless there is another `text`."""
        key = hashable(lane)
        if key not in self.places:
            self.places[key] = len(self.texts)
            self.texts.append(lane_text(lane) if text is None else text)
        return self.places[key]


# The matches of a panel as data of a page.

MOST_NEIGHBOURS = 12
"""How many events of a match have their relations told."""

RESULTS: Lane = (object(),)
"""The lane of rows that have no key: no event is in it."""


@dataclass(frozen=True)
class PanelContext:
    """What the panels of a picture have in common: its clock, its lanes, and the numbers of its events."""

    picture: Picture
    ticks: Ticks
    lanes: LaneNumbers
    events: Mapping[ReferenceEvent, int]


def panel_record(panel: Panel, around: PanelContext) -> dict[str, Any]:
    recording = _Recording(panel, around)
    shades = panel.shades or [()] * len(panel.found)
    matches = [recording.match(one, near) for one, near in zip(panel.found, shades, strict=True)]
    return {
        "title": panel.title,
        "total": panel.total,
        "problem": panel.problem,
        "words": panel.words,
        "columns": [column.name for column in panel.columns],
        "label": 1 if around.picture.lanes else None,
        "matches": matches,
        "variables": [*recording.variables.places],
        "parts": [*recording.parts.places],
    }


class _Recording:
    def __init__(self, panel: Panel, around: PanelContext) -> None:
        self.panel, self.around = panel, around
        self.variables, self.parts = TextNumbers(), TextNumbers()

    def match(self, one: DrawnMatch, shades: Sequence[Shade]) -> list[Any]:
        """Its events and their variables, the scopes of its negations, its values; without events, its time
        and its lane."""
        ticks, events = self.around.ticks, self.around.events
        bound = zip(one.labels, bound_events(one.binding), strict=True)
        pairs = bound if one.labels else bound_variables(one.binding)
        found = sorted(pairs, key=lambda pair: (pair[1].start, pair[1].end))
        columns = self.panel.columns
        drawn = [
            [events[event] for _, event in found],
            [self.variables.place(name) for name, _ in found],
            [[self.parts.place(shade.part), ticks.of(shade.low), ticks.of(shade.high)] for shade in shades],
            [text_of(value, column.type) for value, column in zip(one.values, columns, strict=True)],
        ]
        if not found:
            return [*drawn, ticks.of(one.start), ticks.of(one.end), self._lane(one)]
        relations = one.relations or tuple(neighbours(found))
        return [*drawn, None, None, None, relations] if relations else drawn

    def _lane(self, one: DrawnMatch) -> int:
        """A row of a SELECT stands in the lane of its key, if its columns tell it."""
        names = next(iter(self.around.picture.keys.values()), ())
        columns = (column.name.casefold() for column in self.panel.columns)
        values = dict(zip(columns, one.values, strict=True))
        known = bool(names) and all(name.casefold() in values for name in names)
        if not known:
            return self.around.lanes.place(RESULTS, "results")
        return self.around.lanes.place(tuple(values[name.casefold()] for name in names))


def neighbours(found: Sequence[tuple[str, ReferenceEvent]]) -> Iterable[str]:
    """How each event of a match lies to the one that starts next, if one of the two lasts.

    >>> a, b = (ReferenceEvent("S", row, "A", row, row + 3, {}, (row, row)) for row in (1, 2))
    >>> list(neighbours([("a", a), ("b", b)]))
    ['a OVERLAPS b']
    """
    for (left, one), (right, other) in pairwise(found[:MOST_NEIGHBOURS]):
        if one.end > one.start or other.end > other.start:
            yield f"{left} {name_of(relation((one.start, one.end), (other.start, other.end)))} {right}"


def bound_variables(value: object, name: str = "") -> Iterable[tuple[str, ReferenceEvent]]:
    """The events of a binding, each with its variable.

    >>> a, b = (ReferenceEvent("S", row, "A", row, row, {}, (row, row)) for row in (1, 2))
    >>> [name for name, _ in bound_variables({"a": a, "b": (b,), "k": ({"c": a, "d": None},)})]
    ['a', 'b[1]', 'k[1].c']
    """
    if isinstance(value, ReferenceEvent):
        yield name, value
    elif isinstance(value, Mapping):
        for inner, bound in value.items():
            yield from bound_variables(bound, f"{name}.{bare(inner)}" if name else bare(inner))
    elif isinstance(value, tuple):
        for number, element in enumerate(value, 1):
            yield from bound_variables(element, f"{name}[{number}]")


def record(picture: Picture) -> dict[str, Any]:
    """What a picture shows, as plain values; `packed` makes what the script of a page reads of it."""
    events = picture.shown.events
    times = [event.start for event in events]
    times += [one.start for panel in picture.panels for one in panel.found if one.start is not None]
    ticks = Ticks(picture.clock, min(times, default=0))
    lanes = LaneNumbers(_lanes(picture))
    around = PanelContext(picture, ticks, lanes, {event: number for number, event in enumerate(events)})
    return {
        "clock": {
            "kind": ticks.kind,
            "unit": ticks.unit if picture.axis == TIME_AXIS else None,
            "first": str(ticks.first),
            "offsets": _offsets(picture, times),
        },
        "word": picture.unit,
        "key": [*next(iter(picture.keys.values()), ())],
        "streams": [[name, [c.name for c in columns]] for name, columns in picture.columns.items()],
        "events": _events(picture, ticks, lanes),
        "panels": [panel_record(one, around) for one in picture.panels],
        "notes": [[lanes.place(one.lane), ticks.of(one.time), one.text] for one in picture.remarks],
        "variables": [[one.name, [*one.types]] for one in picture.shown_variables],
        "misses": [_miss(one, around) for one in picture.misses],
        "lanes": lanes.texts,
        **_groups(picture, lanes),
    }


def _miss(miss: LaneMiss, around: PanelContext) -> dict[str, Any]:
    return {
        "lane": around.lanes.place(miss.lane),
        "events": [around.events[event] for event in miss.events],
        "steps": miss.steps,
        "text": miss.text,
        "more": miss.more,
        "whole": miss.is_whole,
    }


# Large pictures: numbers as differences, values by columns, each text once.


def packed(data: dict[str, Any]) -> dict[str, Any]:
    """The record as the page stores it."""
    events = data["events"]
    starts, ends = events["start"], events["end"]
    columns = [
        [_column([row[place] for row in rows], times) for place in range(len(names))]
        for (_, names), rows, times in _of_streams(data)
    ]
    kept = {name: events[name] for name in ("lane", "type", "stream", "types")}
    if all(isinstance(one, int) for one in starts):
        kept["since"] = [now - before for before, now in pairwise([0, *starts])]
    else:
        kept["start"] = starts
    kept["end"] = ends and [end - start for start, end in zip(starts, ends, strict=True)]
    return {**data, "events": {**kept, "columns": columns}}


def _of_streams(data: dict[str, Any]) -> Iterator[tuple[Any, list[list[str]], list[str]]]:
    """Each stream with the values of its events, and the times of these as texts."""
    events = data["events"]
    rows: list[list[list[str]]] = [[] for _ in data["streams"]]
    times: list[list[str]] = [[] for _ in data["streams"]]
    for stream, values, time in zip(events["stream"], events["values"], events["times"], strict=True):
        rows[stream].append(values)
        times[stream].append(time)
    yield from zip(data["streams"], rows, times, strict=True)


def _column(texts: list[str], times: list[str]) -> dict[str, Any] | None:
    """A column: nothing where it has the time of each event, else its texts, each once if they occur often.

    >>> _column(["a", "b", "a", "a"], []), _column(["a", "b"], []), _column(["3", "4"], ["3", "4"])
    ({'texts': ['a', 'b'], 'at': [0, 1, 0, 0]}, {'texts': ['a', 'b']}, None)
    """
    if texts == times:
        return None
    numbers = TextNumbers()
    places = [numbers.place(text) for text in texts]
    if len(numbers.places) * 2 > len(texts):
        return {"texts": texts}
    return {"texts": [*numbers.places], "at": places}


def _groups(picture: Picture, lanes: LaneNumbers) -> dict[str, Any]:
    """Where a key has several lanes: which lanes stand together, what they are called, and which events show
    values, at which height."""
    if not picture.symbols:
        return {}
    groups = LaneNumbers()
    of_lane = [groups.place(lane[:-1], None if lane[:-1] else "all") for lane in lanes.places]
    scale = [picture.scale.get(event) for event in picture.shown.events]
    values = [number for number, one in enumerate(picture.symbols) if one not in picture.symbol_names]
    return {"group": of_lane, "groups": groups.texts, "scale": scale, "values": len(values)}


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
    if picture.symbols:
        named = [one for one in picture.symbols if one in picture.symbol_names]
        lanes |= {
            hashable(one): one for lane in [*lanes.values()] for one in ((*lane[:-1], n) for n in named)
        }
        return sorted(lanes.values(), key=lambda one: (_order(one[:-1]), picture.symbols.index(str(one[-1]))))
    lanes |= {hashable(lane): lane for lane in picture.lanes}
    ordered = sorted(lanes.values(), key=_order)
    if picture.keys:
        return ordered
    places = {name: place for place, name in enumerate(picture.types)}
    return sorted(ordered, key=lambda lane: places.get(text_of(lane[0]).casefold(), len(places)))


def _order(lane: Lane) -> list[tuple[bool, int, str]]:
    """Numbers as numbers, all else as texts."""
    return [(False, v, "") if isinstance(v, int) else (True, 0, text_of(v)) for v in lane]


def _events(picture: Picture, ticks: Ticks, lanes: LaneNumbers) -> dict[str, Any]:
    events = picture.shown.events
    streams, types = TextNumbers(picture.columns), TextNumbers()
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
        "times": [time_text(event.start, picture.clock) for event in events],
    }
    named = {name: place for place, name in enumerate(picture.types)}
    rank = [[name, named.get(name.casefold(), -1)] for name in types.places]
    return found | {"types": rank}


def _values(event: ReferenceEvent, picture: Picture) -> list[str]:
    columns = picture.columns[event.stream]
    return [text_of(event.attributes[column.name], column.type) for column in columns]
