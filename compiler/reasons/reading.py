"""Which rows must be read to explain a query: whose, and from when to when."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from neelc.data.values import Misfit, from_text
from neelc.files import CallError
from neelc.ir.logical import Match, Program, Stream
from neelc.ir.names import bare
from neelc.ir.parts import all_parts
from neelc.ir.pattern import Event as EventPart
from neelc.reasons import keys
from neelc.reasons.asking import is_imprecise
from neelc.reasons.requirements import ANY, NEXT
from neelc.reasons.smallest import MAX_WIDENING
from neelc.runtime.reference.model import Event
from neelc.runtime.reference.times import nanoseconds
from neelc.runtime.reference.windows import length


@dataclass(frozen=True)
class Asked:
    """A query of a script, the keys that are asked for, and the times between which matches start."""

    program: Program
    place: int
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    between: tuple[int, int] | None = None

    @property
    def match(self) -> Match:
        return self.program.queries[self.place].match.whole

    def before(self) -> list[int]:
        """The places of the queries that this one reads, directly or not."""
        needed = {stream.query for stream in self.match.streams}
        found: list[int] = []
        for place in range(self.place - 1, -1, -1):
            named = self.program.queries[place]
            if named.name is not None and named.name in needed:
                needed |= {stream.query for stream in named.query.streams}
                found.append(place)
        return found[::-1]

    def needed(self) -> Program:
        """The script with the queries that are needed: this one is the last."""
        places = [*self.before(), self.place]
        return replace(self.program, queries=tuple(self.program.queries[place] for place in places))

    def streams(self) -> Iterator[tuple[Stream, bool]]:
        """The streams that are read, and whether the keys and times that are asked for can be looked for
        there already: not in those that other queries read."""
        inner = {
            stream.name: stream
            for place in self.before()
            for stream in self.program.queries[place].query.streams
            if stream.query is None
        }
        yield from ((stream, False) for stream in inner.values())
        for stream in self.match.streams:
            if stream.query is None and stream.name not in inner:
                yield stream, True

    def types(self, stream: Stream) -> list[str] | None:
        """The types of a stream's events that can matter, in lower case; None if all of them can."""
        parts = list(all_parts(self.match.pattern))
        windows = (self.match.within, *(part.within for part in parts))
        is_counted = any(window is not None and window.unit == "EVENT" for window in windows)
        if is_counted or self.match.strategy not in (ANY, NEXT) or stream.type_column is None:
            return None
        used = {part.type for part in parts if isinstance(part, EventPart)}
        members = [one for type in self.match.types if type.name in used for one in type.members]
        values = [one.value for one in members if one.stream == stream.name]
        found = [bare(value).lower() for value in values if value is not None and value.isascii()]
        return found if len(found) == len(values) else None

    def range(self) -> tuple[int, int] | None:
        """From when to when events can matter to matches that start in time; None if that is not known."""
        within = self.match.within
        if self.between is None or within is None or within.unit == "EVENT" or is_imprecise(self.match):
            return None
        low, high = self.between
        return low - length(within), high + MAX_WIDENING * length(within)

    def starts(self, event: Event) -> bool:
        """Whether a start event is asked for."""
        return self.between is None or self.between[0] <= event.start <= self.between[1]


def asked(
    program: Program, place: int, key: Sequence[str] = (), between: Sequence[object] | None = None
) -> Asked:
    """What a caller asks for; `CallError` if that cannot be."""
    match = program.queries[place].match.whole
    starts = None if between is None else times(match, between)
    return Asked(program, place, keys.wanted(match, key), starts)


def times(match: Match, between: Sequence[object]) -> tuple[int, int]:
    """The times of `--between`, as the query's own stream writes them, in nanoseconds."""
    if len(between) != 2:
        raise CallError(f"between: two times, from and to, here are {len(between)}")
    low, high = (_time(match, value) for value in between)
    if low > high:
        raise CallError(f"between {between[0]} {between[1]}: the first time is after the second")
    return low, high


def _time(match: Match, value: object) -> int:
    clock = match.clock
    try:
        read = from_text(value, clock.type) if isinstance(value, str) else value
        found = nanoseconds(read, clock.unit or "NANOSECOND", clock)
    except (Misfit, TypeError):
        found = None
    if found is None or (isinstance(value, int) and clock.unit is None):
        example = 42 if clock.unit else datetime.datetime(2024, 3, 1, 8)
        raise CallError(f"between {value}: not a time of type {clock.type}, such as {example}")
    return found
