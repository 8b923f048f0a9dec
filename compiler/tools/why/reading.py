"""Which rows must be read to explain a query: whose, and from when to when."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations

from neelc.catalog.readers.text import TypeMismatch, from_text
from neelc.files import CallError
from neelc.ir import patterns as p
from neelc.ir.expressions import Attribute, Cast, Expr, names_in
from neelc.ir.names import bare, find, written
from neelc.ir.node import Node, transform
from neelc.ir.patterns import Event as EventPart
from neelc.ir.patterns import Exists, Pattern, Repeat, Window, all_parts
from neelc.ir.program import Clock, Match, Program, Stream
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.equalities import same_at
from neelc.pattern.analysis.keys import Key, lasting_keys
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import in_order, members, ranked
from neelc.runtime.reference.model import (
    Binding,
    EvaluationContext,
    LimitReached,
    ReferenceEvent,
    attribute,
    nanoseconds,
)
from neelc.runtime.reference.question import ReferenceQuery, length
from neelc.runtime.values.order import comparable
from neelc.tools.why.courses import size
from neelc.tools.why.model import shown, window_of, window_size
from neelc.tools.why.questions import AnswerCache, StepLimit
from neelc.tools.why.requirements import (
    Requirement,
    RequirementChange,
    changed,
    requirements,
    without,
)

# The keys of a query: which of them are requested, and which events belong together.
#
# Events of different keys are in no match together, nor in what its negations look for
# (`neelc.pattern.analysis.keys` proves that), so each key is explained alone.

KEYS_SHOWN = 5
KeyFilter = Mapping[str, Sequence[str]]
"""The requested values, as texts, by the name of their key. Empty if all keys are requested."""


@dataclass(frozen=True)
class KeyEvents:
    """The events of one key, in order of time. `key` has its values as texts; it is empty without keys.
    `values` are those of PARTITION BY or `[id]`, else of the first key: by these pictures have lanes."""

    key: Mapping[str, str]
    events: tuple[ReferenceEvent, ...]
    values: tuple[object, ...] = ()


def text_of(value: object) -> str:
    """The text that a caller gives for a value of a key.

    >>> text_of("scalpel-1"), text_of(7), text_of(None)
    ('scalpel-1', '7', 'NULL')
    """
    return value if isinstance(value, str) else shown(value)


def key_filter(match: Match, texts: Sequence[str]) -> dict[str, list[str]]:
    """The keys that `--key VALUE` and `--key NAME=VALUE` request.

    >>> from pattern_examples import query
    >>> two_keys = query("SEQ(A a, B b) WHERE [id] AND a.user = b.user")
    >>> key_filter(two_keys, ["id=7", "id=8", "user=Ann"])
    {'id': ['7', '8'], 'user': ['Ann']}
    >>> key_filter(two_keys, ["7"])
    Traceback (most recent call last):
    neelc.files.CallError: key 7: the query has several keys, say which one: id=7 or user=7
    """
    return key_filter_of([key.name for key in lasting_keys(match)], texts)


def key_filter_of(names: Sequence[str], texts: Sequence[str]) -> dict[str, list[str]]:
    """The requested values of the keys with these names."""
    requested: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        key = find(written(name), names) if equals else None
        if key is None and not names:
            raise CallError(
                f"key {text}: the query has no key, as no value is equal in all its events; "
                "ask without a key, and between two times if there are too many events"
            )
        if key is None and len(names) > 1:
            ways = " or ".join(f"{one}={text}" for one in names)
            raise CallError(f"key {text}: the query has several keys, say which one: {ways}")
        requested.setdefault(key or names[0], []).append(value if key else text)
    return requested


def groups(match: Match, events: Sequence[ReferenceEvent], requested: KeyFilter) -> list[KeyEvents]:
    """The events that can matter, grouped by the requested keys."""
    keys, events = lasting_keys(match), tuple(ranked(events))
    if not keys:
        return [KeyEvents({}, in_order(events))]
    found: dict[object, list[ReferenceEvent]] = {}
    values: dict[object, tuple[object, ...]] = {}
    for event, of_event in _keys_of_events(match, keys, events):
        place = tuple(comparable(value) for value in of_event)
        found.setdefault(place, []).append(event)
        values[place] = of_event
    names = [key.name for key in keys]
    chosen = [
        KeyEvents(
            dict(zip(names, map(shown, values[place]), strict=True)),
            in_order(found[place]),
            values[place][: len(match.partition or tuple(same_at(match.pattern))) or 1],
        )
        for place in found
        if is_requested(dict(zip(names, map(text_of, values[place]), strict=True)), requested)
    ]
    if requested and not chosen:
        raise no_such_key(
            requested, [dict(zip(names, map(text_of, one), strict=True)) for one in values.values()]
        )
    return sorted(chosen, key=lambda group: list(group.key.values()))


def is_requested(texts: Mapping[str, str], requested: KeyFilter) -> bool:
    """Whether the values of a key are among the requested ones."""
    return all(texts[name] in allowed for name, allowed in requested.items())


def _keys_of_events(
    match: Match, keys: Sequence[Key], events: Sequence[ReferenceEvent]
) -> Iterator[tuple[ReferenceEvent, tuple[object, ...]]]:
    """Each event that can matter, with its values of the keys. No event has two (`lasting_keys`)."""
    of_type = members(match.types, events)
    types = variable_types(match)
    found: dict[ReferenceEvent, list[object]] = {}
    for name, type in types.items():
        for event in of_type[type]:
            if event not in found:
                found[event] = [_value(dict(key.terms)[name], name, event) for key in keys]
    for event in events:
        if event in found:
            yield event, tuple(found[event])
        elif match.partition:  # no event of the pattern, but windows of events and contiguity count it
            yield event, tuple(attribute(event, written(key.name)) for key in keys)


def _value(term: Expr, variable: str, event: ReferenceEvent) -> object:
    return evaluate(term, EvaluationContext({variable: event}))


def variable_types(match: Match) -> dict[str, str]:
    """The type of each variable of events; a list's is that of its elements."""
    found: dict[str, str] = {}
    for part in all_parts(match.pattern):
        match part:
            case p.Event(type, str() as variable) | p.Repeat(p.Event(type), variable=str() as variable):
                found[variable] = type
    return found


def no_such_key(requested: KeyFilter, present: Sequence[Mapping[str, str]]) -> CallError:
    """The error if no event has a requested key; it suggests one of the keys that are present."""
    text = ", ".join(f"{name} = {' or '.join(allowed)}" for name, allowed in requested.items())
    for name, allowed in requested.items():
        values = sorted({one[name] for one in present if name in one})
        close = difflib.get_close_matches(allowed[0], values, 1)
        if close:
            return CallError(f"key: no event has {text}; did you mean {close[0]}?")
        if values:
            more = ", ..." if len(values) > KEYS_SHOWN else ""
            return CallError(f"key: no event has {text}; there are: {', '.join(values[:KEYS_SHOWN])}{more}")
    return CallError(f"key: no event has {text}")


def columns(match: Match, stream: Stream, name: str) -> list[str] | None:
    """The columns of a stream that hold the key `name`; None if a reader cannot tell by columns alone."""
    terms = next(dict(key.terms) for key in lasting_keys(match) if key.name == name)
    types = {type.name: type for type in match.types}
    found = {name} if match.partition else set()
    for variable, type in variable_types(match).items():
        if any(member.stream == stream.name for member in types[type].members):
            term = terms[variable]
            plain = term.operand if isinstance(term, Cast) else term
            if not isinstance(plain, Attribute):
                return None
            found.add(bare(plain.name))
    if any(one.name in found for one in stream.derived):
        return None
    known = (find(written(one), [written(column.name) for column in stream.columns]) for one in sorted(found))
    return [bare(one) for one in known if one is not None]


# The smallest relaxations of a query that would match from a start, each tried on the reference.

MAX_CHANGES = 2
"""How many requirements are dropped at once beside those that must be dropped in any case."""
MAX_TRIES = 200
"""How many relaxations are tried for one start."""
MAX_CANDIDATES_OF_RELAXATIONS = 5_000
"""How many bindings all these tries together may examine: suggestions are not worth a long wait."""
MAX_WIDENING = 8
"""How many times as large windows are tried in any case."""

MONOTONE = ("condition", "same", "partition", "window")
"""What can only take matches away: if it allows no match alone, it must go."""


@dataclass(frozen=True)
class Relaxation:
    """Requirements that are dropped or widened, the query that remains, and a match of it.

    `match` is the query that is relaxed: paths of requirements lead through its pattern.
    """

    requirements: tuple[Requirement, ...]
    change: RequirementChange
    match: Match
    relaxed: Match
    binding: Binding


@dataclass(frozen=True)
class Relaxations:
    """All relaxations of the least size. `is_complete` is False if there was too much to try them all;
    `is_missing` if no choice of events has the types and the order of the pattern."""

    found: tuple[Relaxation, ...] = ()
    is_complete: bool = True
    is_missing: bool = False


@dataclass(frozen=True, eq=False)
class RelaxationSearch:
    """A query, a start from which it has no match, and the variable that the start is bound to."""

    cache: AnswerCache
    match: Match
    start: ReferenceEvent
    first: str | None
    steps: StepLimit = field(default_factory=lambda: StepLimit(MAX_CANDIDATES_OF_RELAXATIONS))

    def smallest(self) -> Relaxations:
        """The relaxations with the fewest changes."""
        required = requirements(self.match)
        if (
            self.is_there(
                shortened(without(replace(self.match, strategy=SelectionStrategy.ANY_MATCH), required))
            )
            is False
        ):
            return Relaxations(is_missing=True)
        needed = tuple(one for one in required if one.kind in MONOTONE and self.must_go(one, required))
        rest = [one for one in required if one not in needed]
        is_complete, tries = True, 0
        for more in range(0 if needed else 1, MAX_CHANGES + 1):
            found: list[Relaxation] = []
            for chosen in combinations(rest, more):
                tries += 1
                if tries > MAX_TRIES:
                    return Relaxations(tuple(found), False)
                try:
                    found += self.relaxed(tuple(one for one in required if one in (*needed, *chosen)))
                except LimitReached:
                    is_complete = False
            if found:
                return Relaxations(tuple(_likely(found)), is_complete)
        return Relaxations(is_complete=False)

    def is_there(self, match: Match) -> bool | None:
        """Whether a query has a match from the start; None if that would take too long."""
        try:
            return self.cache.first(match, self.start, self.first, self.steps) is not None
        except LimitReached:
            return None

    def must_go(self, one: Requirement, required: Sequence[Requirement]) -> bool:
        """Whether nothing would match even if this were all that is required.

        Whatever a strategy chooses is a choice of SKIP TILL ANY MATCH, so this checks under that one.
        """
        alone = without(
            replace(self.match, strategy=SelectionStrategy.ANY_MATCH),
            [other for other in required if other != one],
        )
        lists = {part.variable for part in all_parts(alone.pattern) if isinstance(part, Repeat)}
        return self.is_there(alone if names_in(one.expression) & lists else shortened(alone)) is False

    def relaxed(self, chosen: tuple[Requirement, ...]) -> list[Relaxation]:
        """The query with these requirements relaxed as little as possible, if it has a match then."""
        for strategy in _strategies(self.match, chosen):
            for change in self.changes(chosen, strategy):
                relaxed = changed(self.match, change)
                binding = self.cache.first(relaxed, self.start, self.first, self.steps)
                if binding is not None:
                    return [Relaxation(chosen, change, self.match, relaxed, binding)]
        return []

    def changes(
        self, chosen: tuple[Requirement, ...], strategy: SelectionStrategy
    ) -> Iterator[RequirementChange]:
        """Ways to relax the requirements, the narrowest windows first."""
        windows = [one for one in chosen if one.window is not None]
        dropped = frozenset(chosen)
        if not windows:
            yield RequirementChange(dropped, strategy=strategy)
        for sizes in self.sizes(windows, dropped, strategy) if windows else ():
            pairs = zip(windows, sizes, strict=True)
            yield RequirementChange(
                dropped, {one: window_of(wide, one.window) for one, wide in pairs if one.window}, strategy
            )

    def sizes(
        self, windows: Sequence[Requirement], dropped: frozenset[Requirement], strategy: SelectionStrategy
    ) -> Iterator[tuple[int, ...]]:
        """The sizes that the windows have in matches without negations, the smallest first.

        A match that is as long as its window is in the narrowest scopes that it can be in: no other size of
        the window needs to be tried for it. Windows grow step by step, so that the nearest matches are found
        before there are too many.
        """
        negations = frozenset(one for one in requirements(self.match) if one.kind == "negation")
        query = self.cache.question(self.match)
        tried = {tuple(window_size(one.window) for one in windows if one.window)}
        for wide in self.widenings(windows, dropped | negations, strategy):
            positive = changed(self.match, RequirementChange(dropped | negations, wide, strategy))
            bindings = self.cache.matches(positive, self.start, self.first, self.steps)
            found = {tuple(self.needed(query, one, binding) for one in windows) for binding in bindings}
            yield from sorted(found - tried)
            tried |= found
            if found and any(isinstance(part, Exists) for part in all_parts(self.match.pattern)):
                # The events that EXISTS drops must be in the window too, but are in no binding.
                yield tuple(window_size(wide[one]) for one in windows)

    def needed(self, query: ReferenceQuery, one: Requirement, binding: Binding) -> int:
        """How large a window must be for a match: not smaller than it is, which would be no relaxation."""
        assert one.window is not None, "a window"
        return max(size(query, one, binding), window_size(one.window))

    def widenings(
        self, windows: Sequence[Requirement], dropped: frozenset[Requirement], strategy: SelectionStrategy
    ) -> Iterator[dict[Requirement, Window]]:
        """The windows twice as large, four times, and so on; beyond MAX_WIDENING only if there is a match
        without them, up to its size."""
        factor = 2
        while factor <= MAX_WIDENING or factor < 2 * self.furthest(windows, dropped, strategy):
            yield {one: wider(one.window, factor) for one in windows if one.window}
            factor *= 2

    def furthest(
        self, windows: Sequence[Requirement], dropped: frozenset[Requirement], strategy: SelectionStrategy
    ) -> int:
        """How many times as large windows have to be for one of the matches that there are without them."""
        open_ended = changed(self.match, RequirementChange(dropped, strategy=strategy))
        found = self.cache.first(open_ended, self.start, self.first, self.steps)
        if found is None:
            return 0
        query = self.cache.question(self.match)
        sizes = ((self.needed(query, one, found), window_size(one.window)) for one in windows if one.window)
        return max(-(-needed // max(size, 1)) for needed, size in sizes)


def _likely(found: Sequence[Relaxation]) -> list[Relaxation]:
    """Where later data may bring the match, that is what to say, not that it matches without the negation."""
    is_open = any(one.kind == "complete" for relaxation in found for one in relaxation.requirements)
    kinds = ((relaxation, {one.kind for one in relaxation.requirements}) for relaxation in found)
    return [
        relaxation
        for relaxation, of_it in kinds
        if not is_open or "complete" in of_it or "negation" not in of_it
    ]


def wider(window: Window, factor: int) -> Window:
    """
    >>> from neelc.ir.expressions import Literal
    >>> from neelc.ir.types import INT
    >>> print(wider(Window(Literal(5, INT), "MINUTE"), 2))
    10 MINUTES
    """
    return window_of(max(window_size(window), 1) * factor, window)


def shortened(match: Match) -> Match:
    """The query with lists as short as they can be, which are far fewer. Where no condition names
    a list, there is a match with a short one if there is any.

    >>> from pattern_examples import query
    >>> print(shortened(query("SEQ(A a, B+ b[])")).pattern)
    SEQ(A a, B{1} b[])
    """

    def change(node: Node) -> Node | None:
        return replace(node, most=max(node.least, 1)) if isinstance(node, Repeat) else None

    pattern = transform(match.pattern, change)
    assert isinstance(pattern, Pattern)
    return replace(match, pattern=pattern)


def _strategies(match: Match, chosen: Sequence[Requirement]) -> tuple[SelectionStrategy, ...]:
    if not any(one.kind == "strategy" for one in chosen) or match.strategy == SelectionStrategy.NEXT_MATCH:
        return (SelectionStrategy.ANY_MATCH,)
    return (SelectionStrategy.NEXT_MATCH, SelectionStrategy.ANY_MATCH)


@dataclass(frozen=True)
class WhyRequest:
    """A query of a script, the requested keys, and the times between which matches start."""

    program: Program
    place: int
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    between: tuple[int, int] | None = None

    @property
    def match(self) -> Match:
        return self.program.queries[self.place].match.whole

    def before(self) -> list[int]:
        """The places of the queries that this one reads, directly or not."""
        return [place for place in self.program.needed([self.place]) if place != self.place]

    def needed(self) -> Program:
        """The script with the queries that are needed: this one is the last."""
        places = [*self.before(), self.place]
        return replace(self.program, queries=tuple(self.program.queries[place] for place in places))

    def streams(self) -> Iterator[tuple[Stream, bool]]:
        """The streams that are read, and whether the requested keys and times can be filtered there
        already: not in those that other queries read."""
        inner = {
            stream.name: stream
            for place in self.before()
            for stream in self.program.queries[place].query.streams
            if stream.producer is None
        }
        looked_up = (table for stream in self.match.streams for table in stream.tables[1:])
        inner |= {table.name: table for table in looked_up}
        yield from ((stream, False) for stream in inner.values())
        for stream in self.match.streams:
            if stream.producer is None and stream.name not in inner:
                yield stream, True

    @property
    def needs_end(self) -> bool:
        """Whether it must be known when the data of all keys end."""
        return self.match.complete

    def types(self, stream: Stream) -> list[str] | None:
        """The types of a stream's events that can matter, in lower case; None if all of them can."""
        parts = list(all_parts(self.match.pattern))
        windows = (self.match.within, *(part.within for part in parts))
        is_counted = any(window is not None and window.unit == "EVENT" for window in windows)
        if (
            is_counted
            or self.match.strategy not in (SelectionStrategy.ANY_MATCH, SelectionStrategy.NEXT_MATCH)
            or stream.type_column is None
        ):
            return None
        used = {part.type for part in parts if isinstance(part, EventPart)}
        members = [one for type in self.match.types if type.name in used for one in type.members]
        values = [one.value for one in members if one.stream == stream.name]
        found = [bare(value).lower() for value in values if value is not None and value.isascii()]
        return found if len(found) == len(values) else None

    def range(self) -> tuple[int, int] | None:
        """From when to when events can matter to matches that start in time; None if that is not known: which
        matches are kept depends on all before them."""
        within = self.match.within
        if self.match.kept is not None:
            return None
        if self.between is None or within is None or within.unit == "EVENT" or self.match.is_imprecise:
            return None
        low, high = self.between
        return low - length(within), high + MAX_WIDENING * length(within)

    def starts(self, event: ReferenceEvent) -> bool:
        """Whether a start event is within the requested times."""
        return self.between is None or self.between[0] <= event.start <= self.between[1]


def why_request(
    program: Program, place: int, key: Sequence[str] = (), between: Sequence[object] | None = None
) -> WhyRequest:
    """The request of a caller; raises `CallError` if it cannot be met."""
    match = program.queries[place].match.whole
    starts = None if between is None else times(match.clock, between)
    return WhyRequest(program, place, key_filter(match, key), starts)


def times(clock: Clock, between: Sequence[object]) -> tuple[int, int]:
    """The times of `--between`, as the query's own stream writes them, in nanoseconds."""
    if len(between) != 2:
        raise CallError(f"between: two times, from and to, here are {len(between)}")
    low, high = (_time(clock, value) for value in between)
    if low > high:
        raise CallError(f"between {between[0]} {between[1]}: the first time is after the second")
    return low, high


def _time(clock: Clock, value: object) -> int:
    try:
        read = from_text(value, clock.type) if isinstance(value, str) else value
        found = nanoseconds(read, clock.unit or "NANOSECOND", clock)
    except (TypeMismatch, TypeError):
        found = None
    if found is None or (isinstance(value, int) and clock.unit is None):
        example = 42 if clock.unit else datetime.datetime(2024, 3, 1, 8)
        raise CallError(f"between {value}: not a time of type {clock.type}, such as {example}")
    return found
