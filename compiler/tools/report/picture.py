"""What a picture shows: events in lanes, the matches of one or several queries over them, and notes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol

from neelc.files import CallError
from neelc.ir import patterns as p
from neelc.ir.expressions import Attribute, EveryElement, MatchProperty, Variable, WholeEvent
from neelc.ir.names import bare, find, written
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.program import Clock, Column, Match, OutputColumn, Stream
from neelc.ir.types import Array, DataType, Struct, StructField
from neelc.pattern.analysis.equalities import same_at
from neelc.pattern.analysis.keys import Key, lasting_keys
from neelc.pattern.analysis.regions import plain
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.events import in_order
from neelc.runtime.reference.model import Binding, ReferenceEvent, bound_events, nanoseconds
from neelc.runtime.reference.question import (
    ELEMENT,
    EVERYWHERE,
    ReferenceQuery,
    Scope,
    between,
    extent,
    iteration,
    reach,
    room,
)
from neelc.runtime.reference.results import is_over_matches
from neelc.runtime.reference.satisfy import PartContext, is_absent
from neelc.runtime.values.order import comparable
from neelc.runtime.values.times import session_zone

MOST_EVENTS = 300_000
"""How many events a page shows; a browser draws this many smoothly."""

MOST_EVENTS_IN_NOTEBOOK = 50_000
"""How many events a picture shows that is stored in a notebook."""

MOST_EVENTS_SEARCHED = 50_000
"""How many events a picture shows whose matches the reference finds again."""

MOST_MATCHES = 20_000
"""How many matches a picture shows, for each strategy."""

TIME_AXIS = "time"
"""The axis of a picture whose events have times."""

Lane = tuple[object, ...]
"""What the events of a lane have in common: the values of the key, or their type."""


@dataclass(frozen=True)
class DrawnMatch:
    """A match: what its variables are bound to, and the values of the query's own columns.

    A row of a SELECT binds nothing and has a time of its own, from `start` to `end`, in nanoseconds. Rows of
    MATCH_RECOGNIZE have `labels`: each the variable that it is mapped to.
    """

    binding: Binding
    values: tuple[object, ...] = ()
    start: int | None = None
    end: int | None = None
    labels: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    """How events that last lie to each other, in words."""


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
    found: tuple[DrawnMatch, ...] = ()
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


class StartNote(Protocol):
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


def remark(note: StartNote, unit: str) -> Remark:
    """A note as it is drawn; `unit` is that of integer times."""
    lane = note.key if isinstance(note.key, tuple) else (note.key,)
    return Remark(lane, nanoseconds(note.time, unit) or 0, note.text)


@dataclass(frozen=True)
class ShownEvents:
    """The events that are drawn, out of how many, and which lanes they are in, out of how many.

    `since` and `until` tell which part of the time is drawn, in nanoseconds, where it is not all of it.
    """

    events: tuple[ReferenceEvent, ...]
    total: int
    lanes: int | None = None
    since: int | None = None
    until: int | None = None


# Where events are on a map.


@dataclass(frozen=True)
class MapPosition:
    """Where an event of a key was at a time, as WKT, what is said of it, and the numbers of its matches."""

    text: str
    key: Lane
    time: int
    about: str
    matches: tuple[int, ...] = ()
    geometry: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Outline:
    """A geometry that does not move: its text, what it is called, and what is said of it."""

    text: str
    label: str
    about: str
    geometry: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class PlacesOfPicture:
    """What a map shows. `is_geodesic`: the query measures in metres, so that coordinates are degrees."""

    positions: tuple[MapPosition, ...]
    outlines: tuple[Outline, ...]
    is_geodesic: bool = False


@dataclass(frozen=True)
class PatternVariable:
    """A variable, as the labels of matches have it (`b[]` for each `b[1]`), and the types of its events."""

    name: str
    types: tuple[str, ...]


@dataclass(frozen=True)
class LaneMiss:
    """How far the furthest run of a lane without matches came: its events, how many of how many steps it
    reached, and what stopped it: in a sentence, and in full. `is_whole`: it has all steps, but is rejected.
    """

    lane: Lane
    events: tuple[ReferenceEvent, ...]
    steps: str
    text: str
    more: str = ""
    is_whole: bool = False


@dataclass(frozen=True)
class Picture:
    """All that a page shows. `keys` are the names of the lanes' columns by stream; where there are none, each
    type has a lane. `types` are those that the query names. `notices` are sentences on what is not drawn.
    `unit` is what an event is called; rows of MATCH_RECOGNIZE are rows. `axis` is what the axis shows."""

    file: str
    name: str
    text: str
    clock: Clock
    columns: Mapping[str, tuple[Column, ...]]
    keys: Mapping[str, tuple[str, ...]]
    types: tuple[str, ...]
    shown: ShownEvents
    panels: tuple[Panel, ...]
    remarks: tuple[Remark, ...] = ()
    notices: tuple[str, ...] = ()
    unit: str = "event"
    axis: str = TIME_AXIS
    zone: datetime.tzinfo = field(default_factory=session_zone)
    """The time zone of the session, whose clock the page shows."""
    symbols: tuple[str, ...] = ()
    """What the lanes of a key are about, from top to bottom: the last value of a lane. Without them, a key
    has one lane."""
    scale: Mapping[ReferenceEvent, float] = field(default_factory=dict)
    """How high in its lane an event stands, from 0 to 1, where that shows a value."""
    positions: tuple[MapPosition, ...] = ()
    """Positions that are those of no event that is drawn."""
    places: PlacesOfPicture | None = None
    variables: tuple[PatternVariable, ...] = ()
    """The variables of the pattern, which have the colours in this order; without them, types have."""
    misses: tuple[LaneMiss, ...] = ()
    """How far lanes without matches came."""
    lanes: tuple[Lane, ...] = ()
    """Lanes that are there even without anything in them: those of rules."""

    @property
    def shown_variables(self) -> tuple[PatternVariable, ...]:
        """What has a colour, in order."""
        return self.variables or tuple(PatternVariable("", (name,)) for name in self.types)

    @property
    def counted(self) -> str:
        """How much there is of what has matches."""
        if not self.symbols:
            return f"{self.shown.total:,} {self.unit}{'' if self.shown.total == 1 else 's'}"
        bars = sum(event.type in self.symbol_names for event in self.shown.events)
        return f"{bars:,} {self.unit}{'' if bars == 1 else 's'}"

    @property
    def symbol_names(self) -> frozenset[str]:
        """The lanes of situations, without those of values."""
        return frozenset(one for one in self.symbols if one.casefold() in self.types)

    def lane(self, event: ReferenceEvent) -> Lane:
        return lane_of(event, self.keys)


@dataclass(frozen=True)
class PartOfRows:
    """Out of how many rows, and of how many keys where that is known, those of some partitions are drawn."""

    total: int
    lanes: int | None = None


def lane_of(event: ReferenceEvent, keys: Mapping[str, Sequence[str]]) -> Lane:
    """The lane of an event: the values of its key, or its type where there is no key.

    >>> trade = ReferenceEvent("Trades", 0, "DELL", 1, 1, {"id": 7}, (1, 1))
    >>> lane_of(trade, {"Trades": ("id",)}), lane_of(trade, {})
    ((7,), ('DELL',))
    """
    if event.stream in keys:
        return tuple(event.attributes.get(name) for name in keys[event.stream])
    return () if keys else (event.type,)


def first_matches(found: Iterable[DrawnMatch], keys: Mapping[str, Sequence[str]]) -> dict[Lane, int]:
    """When the first match of each lane starts, that has one."""
    starts: dict[Lane, int] = {}
    for one in found:
        for event in bound_events(one.binding):
            lane = hashable(lane_of(event, keys))
            starts[lane] = min(starts.get(lane, event.start), event.start)
    return starts


# Which events are drawn where there are more than a picture shows: nothing is left out without a word.


@dataclass(frozen=True)
class DrawnLanes:
    """The events to draw: those of some lanes; of a single lane too large for the picture, those that start
    at `since` or later."""

    lanes: tuple[Lane, ...]
    since: int | None = None


def chosen_part(counts: Mapping[Lane, int], matched: Mapping[Lane, int], most: int) -> DrawnLanes:
    """The lanes to draw, those with matches first, as many as fit; the first one in part if it does not.

    `counts` has the events of each lane, `matched` when the first match of a lane starts.

    >>> chosen_part({("a",): 5, ("b",): 9, ("c",): 4}, {("c",): 0}, 10).lanes
    (('c',), ('a',))
    >>> chosen_part({("a",): 5, ("b",): 90}, {("b",): 7}, 10)
    DrawnLanes(lanes=(('b',),), since=7)
    """
    order = sorted(counts, key=lambda lane: (lane not in matched, str(lane)))
    chosen: list[Lane] = []
    left = most
    for lane in order:
        if counts[lane] <= left:
            chosen.append(lane)
            left -= counts[lane]
        elif not chosen:
            return DrawnLanes((lane,), matched.get(lane))
    return DrawnLanes(tuple(chosen))


def shown_events(
    events: Iterable[ReferenceEvent],
    keys: Mapping[str, Sequence[str]],
    matched: Mapping[Lane, int],
    most: int,
) -> ShownEvents:
    """Of all events those that are drawn."""
    ordered = in_order(events)
    lanes: dict[Lane, list[ReferenceEvent]] = {}
    for event in ordered:
        lanes.setdefault(hashable(lane_of(event, keys)), []).append(event)
    if len(ordered) <= most:
        return ShownEvents(ordered, len(ordered), len(lanes))
    if not keys:
        return cut(ordered, len(ordered), len(lanes), min(matched.values(), default=None), most)
    part = chosen_part({lane: len(found) for lane, found in lanes.items()}, matched, most)
    kept = in_order(event for lane in part.lanes for event in lanes[lane])
    if len(kept) <= most:
        return ShownEvents(kept, len(ordered), len(lanes))
    return cut(kept, len(ordered), len(lanes), part.since, most)


def cut(
    events: Sequence[ReferenceEvent], total: int, lanes: int | None, since: int | None, most: int
) -> ShownEvents:
    """The first events that start at `since` or later, in order of time."""
    kept = [event for event in events if since is None or event.start >= since][:most]
    return (
        ShownEvents(tuple(kept), total, lanes, kept[0].start, kept[-1].start)
        if kept
        else ShownEvents((), total, lanes)
    )


def hashable(lane: Lane) -> Lane:
    """A lane as a value that sets can hold: NaN is one value.

    >>> hashable((float("nan"), [1]))
    (('NaN',), (1,))
    """
    return tuple(comparable(value) for value in lane)


# By which values the events of a query are put into lanes.

Keys = dict[str, tuple[str, ...]]
"""The columns of the key in each stream that has one."""


def lane_keys(match: Match, columns: Sequence[str] = ()) -> Keys:
    """These columns, if there are any, else those of PARTITION BY or `[id]`, else what conditions make equal,
    but for times that a relation does.

    >>> from pattern_examples import query
    >>> lane_keys(query("SEQ(A a, !B b, C c) WHERE [id]"))
    {'S': ('id',)}
    >>> lane_keys(query("SEQ(A a, B b) WHERE a.id = b.id")), lane_keys(query("SEQ(A a, B b)"))
    ({'S': ('id',)}, {})
    >>> lane_keys(query("SEQ(A a, B b) WHERE [id]"), ["n"])
    {'S': ('n',)}
    """
    streams = match.streams
    if columns:
        return keys_named(streams, columns)
    names = match.partition or tuple(same_at(match.pattern))
    found = _columns(streams, names)
    if names and len(found) == len(streams):
        return found
    return next((keys for key in lasting_keys(match) if (keys := _of_key(key, match))), {})


def keys_named(streams: Sequence[Stream], names: Sequence[str]) -> Keys:
    """The columns of these names; `CallError` if no stream has them all."""
    found = _columns(streams, [written(name) for name in names])
    if not found:
        listed = ", ".join(dict.fromkeys(column.name for stream in streams for column in stream.columns))
        raise CallError(f"report: no stream has the key {', '.join(names)}; columns: {listed}")
    return found


def _columns(streams: Sequence[Stream], names: Sequence[str]) -> Keys:
    keys: Keys = {}
    for stream in streams:
        known = [column.name for column in stream.columns]
        found = [column for name in names if (column := find(name, known)) is not None]
        if names and len(found) == len(names):
            keys[stream.name] = tuple(found)
    return keys


def _of_key(key: Key, match: Match) -> Keys:
    """The columns of an inferred key, if each stream has one that serves all its events."""
    terms = {name: plain(term) for name, term in key.terms}
    types = {type.name: type for type in match.types}
    found: dict[str, set[str]] = {stream.name: set() for stream in match.streams}
    for variable, type in _events(match.pattern):
        term = terms.get(variable)
        for member in types[type].members:
            found[member.stream].add(term.name if isinstance(term, Attribute) else "")
    if any(len(names) != 1 or "" in names for names in found.values()):
        return {}
    keys: Keys = {}
    for stream in match.streams:
        keys |= _columns([stream], [*found[stream.name]])
    return keys


def _events(pattern: p.Pattern) -> Iterator[tuple[str, str]]:
    """The variables of events, each with its type; a list's variable stands for its events."""
    for part in all_parts(pattern):
        match part:
            case p.Event(type, str() as variable) | p.Repeat(p.Event(type), variable=str() as variable):
                yield variable, type


# Where the negations of a match looked for events: their scopes.
#
# These are the scopes that `neelc.runtime.reference.satisfy` checks, for a binding known to be a match.


def shades(question: ReferenceQuery, binding: Binding) -> tuple[Shade, ...]:
    """The scopes of all negations, outside of EXISTS, that a match has passed.

    >>> from pattern_examples import query
    >>> from neelc.runtime.reference.model import ReferenceEvent
    >>> from neelc.runtime.reference.question import question
    >>> at = 10**6
    >>> a, c = (ReferenceEvent("S", t, kind, t * at, t * at, {}, (t, t)) for t, kind in ((2, "A"), (9, "C")))
    >>> reference = question(query("SEQ(A a, !B b, C c, !D d) WITHIN 10"), [a, c])
    >>> for shade in shades(reference, {"a": a, "c": c}):
    ...     print(shade.part, shade.low, shade.high)
    !B b 2000001 8999999
    !D d 9000001 12000000
    """
    return tuple(_shades(question, question.whole, PartContext(binding)))


def _shades(question: ReferenceQuery, part: p.Pattern, view: PartContext) -> Iterator[Shade]:
    if isinstance(part, p.Not):
        ranks = question.events[0].ranks if question.events else 1
        yield Shade(str(part), _instant(view.scope.low, ranks), _instant(view.scope.high, ranks))
        return
    if is_absent(question, part, view.binding):
        return
    events = question.events_in(part, view.binding)
    scope = view.scope & (reach(question, part.within, events) or EVERYWHERE)
    for inner, binding, narrower in _inside(question, part, view.binding, scope):
        if narrower.low <= narrower.high:
            yield from _shades(question, inner, replace(view, binding=binding, scope=narrower))


def _inside(
    question: ReferenceQuery, part: p.Pattern, binding: Binding, scope: Scope
) -> Iterator[tuple[p.Pattern, Binding, Scope]]:
    """The parts of a part, each with its scope."""
    match part:
        case p.Seq(parts):
            yield from _in_sequence(question, [(inner, binding) for inner in parts], scope)
        case p.Repeat():
            elements = binding.get(part.variable or ELEMENT)
            assert isinstance(elements, tuple)
            bodies = [(part.part, {**binding, **iteration(part, element)}) for element in elements]
            yield from _in_sequence(question, bodies, scope)
        case p.AndNeg(parts):
            for place, inner in enumerate(parts):
                around = _neighbours(question, part, binding, place) if isinstance(inner, p.Not) else scope
                yield inner, binding, scope & around
        case p.Listing(parts):
            yield from ((inner, binding, scope) for inner in parts)
        case p.Optional(inner):
            yield inner, binding, scope


def _in_sequence(
    question: ReferenceQuery, parts: Sequence[tuple[p.Pattern, Binding]], scope: Scope
) -> Iterator[tuple[p.Pattern, Binding, Scope]]:
    extents = [extent(question.events_in(part, binding)) for part, binding in parts]
    for place, (part, binding) in enumerate(parts):
        yield part, binding, room(extents, place, scope)


def _neighbours(question: ReferenceQuery, part: p.AndNeg, binding: Binding, place: int) -> Scope:
    """Between the positive parts on both sides."""
    positive = [at for at, inner in enumerate(part.parts) if not isinstance(inner, p.Not)]
    before = max((at for at in positive if at < place), default=None)
    after = min((at for at in positive if at > place), default=None)
    ends = [
        None if at is None else extent(question.events_in(part.parts[at], binding)) for at in (before, after)
    ]
    return between(*ends)


def _instant(moment: float, ranks: int) -> int | None:
    """The time of a moment; None: there is no limit."""
    return None if math.isinf(moment) else int(moment) // ranks


# The query that a picture asks: the user's, with all events of its matches as columns.

START = "match_start"


def drawable(match: Match) -> Match:
    """The query with a column for each variable, `match_start`, and then its own columns, one row per match.

    >>> from pattern_examples import query
    >>> drawn = drawable(query("SEQ(A a, !B b, C+ c[]) WITHIN 5 RETURN DISTINCT a.x, count(c[]) AS n"))
    >>> [column.name for column in drawn.columns], drawn.distinct
    (['event_0', 'event_1', 'match_start', 'own_0', 'own_1'], False)

    Aggregates over all matches say nothing of one of them: only the groups stay.

    >>> [column.name for column in own_columns(query("SEQ(A a, C c) RETURN a.id, count(*) AS matches"))]
    ['a_id']
    """
    events = [
        OutputColumn(f"event_{place}", value, type_of_value(value))
        for place, value in enumerate(bound_values(match))
    ]
    start = OutputColumn(START, MatchProperty(START, match.clock.type), match.clock.type)
    own = [replace(output, name=f"own_{place}") for place, output in enumerate(own_outputs(match))]
    return replace(match, outputs=(*events, start, *own), distinct=False, aggregated=False)


def own_outputs(match: Match) -> tuple[OutputColumn, ...]:
    """The query's own columns, as far as they tell something of single matches."""
    return tuple(output for output in match.outputs if not is_over_matches(output.expression))


def own_columns(match: Match) -> tuple[Column, ...]:
    return tuple(Column(output.name, output.type) for output in own_outputs(match))


def bound_values(match: Match) -> Iterator[WholeEvent]:
    """What the positive variables stand for, in order, as values."""
    for part in binding_parts(match.pattern):
        variable = Variable(part.variable or "")
        of_one = struct(part, match)
        yield WholeEvent(variable if isinstance(part, p.Event) else EveryElement(variable), of_one)


def type_of_value(value: WholeEvent) -> DataType:
    return Array(value.type) if isinstance(value.event, EveryElement) else value.type


def binding_parts(part: p.Pattern) -> list[p.Event | p.Repeat]:
    """The parts that bind the variables of a match, each variable once.

    >>> from neelc.syntax import pattern
    >>> [str(part) for part in binding_parts(pattern("SEQ(A a, !B b, SEQ(C c, D d)+ k[], EXISTS e : E e)"))]
    ['A a', 'SEQ(C c, D d)+ k[]']
    """
    return list({found.variable: found for found in _binding(part)}.values())


def _binding(part: p.Pattern) -> Iterator[p.Event | p.Repeat]:
    match part:
        case p.Event() | p.Repeat():
            yield part
        case p.Not():
            return
        case p.Exists(dropped, inner):
            yield from (found for found in _binding(inner) if found.variable not in dropped)
        case _:
            for inner in inner_parts(part):
                yield from _binding(inner)


def struct(part: p.Event | p.Repeat, match: Match) -> Struct:
    """The type of an event, or of one element of a list."""
    if isinstance(part, p.Repeat) and not isinstance(part.part, p.Event):
        return Struct(tuple(_fields(part.part, match)))
    event = part.part if isinstance(part, p.Repeat) else part
    assert isinstance(event, p.Event)
    (type,) = (type for type in match.types if type.name == event.type)
    return Struct(tuple(StructField(written(column.name), column.type) for column in type.columns))


def _fields(body: p.Pattern, match: Match) -> Iterator[StructField]:
    """An iteration of a closure: a field for each variable of its body."""
    for part in binding_parts(body):
        kind = struct(part, match)
        name = written(bare(part.variable or ""))
        yield StructField(name, kind if isinstance(part, p.Event) else Array(kind))
