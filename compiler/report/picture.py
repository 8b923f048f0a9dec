"""What a picture shows: events in lanes, the matches of one or several queries over them, and notes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from neelc.ir.logical import Clock, Column
from neelc.ir.moments import session_zone
from neelc.runtime.reference.model import Binding, Event

MOST_EVENTS = 50_000
"""How many events a picture shows; a browser draws so many without a stutter."""

MOST_MATCHES = 20_000
"""How many matches a picture shows, for each strategy."""

Lane = tuple[object, ...]
"""What the events of a lane have in common: the values of the key, or their type."""


@dataclass(frozen=True)
class Found:
    """A match: what its variables are bound to, and the values of the query's own columns.

    A row of a SELECT binds nothing and has a time of its own, from `start` to `end`, in nanoseconds.
    """

    binding: Binding
    values: tuple[object, ...] = ()
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Shade:
    """Where a negation looked for events and found none: its text, and its scope in nanoseconds, both ends
    included; None where it has no end."""

    part: str
    low: int | None
    high: int | None


@dataclass(frozen=True)
class Panel:
    """The matches of a query under one strategy, or the rows of a SELECT: what `words` call one of them, and
    many; without them, only events are drawn. `total` is how many there are; `problem` says why there are
    none to show."""

    title: str
    columns: tuple[Column, ...] = ()
    found: tuple[Found, ...] = ()
    total: int = 0
    shades: tuple[tuple[Shade, ...], ...] = ()
    problem: str | None = None
    words: tuple[str, str] | None = ("match", "matches")

    @property
    def counted(self) -> str:
        """How many there are.

        >>> Panel("SKIP TILL ANY MATCH", total=1).counted
        '1 match'
        """
        one, many = self.words or ("match", "matches")
        return f"{self.total:,} {one if self.total == 1 else many}"


class Note(Protocol):
    """What somebody has to say about a start event, such as why it led to no match: its key and its time as
    the stream has them, and a text."""

    @property
    def key(self) -> object: ...

    @property
    def time(self) -> object: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class Remark:
    """A note in its lane, at its time in nanoseconds."""

    lane: Lane
    time: int
    text: str


@dataclass(frozen=True)
class Shown:
    """The events that are drawn, out of how many, and which lanes they are in, out of how many.

    `since` and `until` tell which part of the time is drawn, in nanoseconds, where it is not all of it.
    """

    events: tuple[Event, ...]
    total: int
    lanes: int | None = None
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True)
class Picture:
    """All that a page shows. `keys` are the names of the lanes' columns by stream; where there are none, each
    type has a lane. `types` are those that the query names. `is_partial`: its rows are starts, of which only
    complete matches are drawn."""

    file: str
    name: str
    text: str
    clock: Clock
    columns: Mapping[str, tuple[Column, ...]]
    keys: Mapping[str, tuple[str, ...]]
    types: tuple[str, ...]
    shown: Shown
    panels: tuple[Panel, ...]
    remarks: tuple[Remark, ...] = ()
    is_partial: bool = False
    zone: datetime.tzinfo = field(default_factory=session_zone)
    """The time zone of the session, whose clock the page shows."""

    def lane(self, event: Event) -> Lane:
        return lane_of(event, self.keys)


def lane_of(event: Event, keys: Mapping[str, Sequence[str]]) -> Lane:
    """The lane of an event: the values of its key, or its type where there is no key.

    >>> trade = Event("Trades", 0, "DELL", 1, 1, {"id": 7}, (1, 1))
    >>> lane_of(trade, {"Trades": ("id",)}), lane_of(trade, {})
    ((7,), ('DELL',))
    """
    if event.stream in keys:
        return tuple(event.attributes.get(name) for name in keys[event.stream])
    return () if keys else (event.type,)
