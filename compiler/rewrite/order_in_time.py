"""What a pattern says about the times of its events: what a SEQ orders is known without a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.logical import Stream
from neelc.ir.names import bare, same
from neelc.ir.node import walk
from neelc.ir.parts import inner_parts
from neelc.ir.types import TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.rewrite.claims import AtMost
from neelc.rewrite.facts import Facts


@dataclass(frozen=True)
class Place:
    """Where a variable is declared: the part, and the parts on the way to it with the place of the next."""

    part: p.Pattern
    path: tuple[tuple[p.Pattern, int], ...]


@dataclass(frozen=True)
class Time:
    """The start of an event, or its `end`, by a clock of this type and unit."""

    event: e.EventRef
    end: bool
    clock: tuple[DataType, str]


def times_in_order(part: p.Pattern, conditions: Iterable[e.Expr], facts: Facts) -> Iterator[AtMost]:
    """What the order of the pattern's parts says about the times that conditions speak of.

    >>> from neelc.rewrite.examples import query
    >>> asked = query("SEQ(A a, B+ b[], AND(C c, D d)) WHERE c.ts > d.ts AND a.ts > c.ts AND b[1].ts > a.ts")
    >>> for claim in times_in_order(asked.pattern, [asked.pattern.where], Facts(lambda: asked)):
    ...     print(claim.left, "<" if claim.strict else "<=", claim.right)
    a.ts < c.ts
    a.ts < d.ts
    a.ts < b[1].ts
    b[1].ts < c.ts
    b[1].ts < d.ts

    A SEQ orders the events of its parts wherever both are bound; also one that is looked for, by EXISTS or
    by `!`, lies between the neighbours of its part. Where one of them is NULL there is no order, but then no
    comparison of their times is TRUE either.
    """
    found = times(part, conditions, facts)
    places = _places(part) if len(found) > 1 else {}
    for (left, one), (right, other) in permutations(found.items(), 2):
        if one.clock == other.clock and _precedes(one.event, other.event, places):
            yield AtMost(left, right, strict=True)
        elif one.event == other.event and other.end > one.end:
            yield AtMost(left, right)


def times(part: p.Pattern, conditions: Iterable[e.Expr], facts: Facts) -> dict[e.Expr, Time]:
    """The times that conditions speak of. An event has both: a row without a time is no event."""
    terms = dict.fromkeys(node for condition in conditions for node in walk(condition))
    named = [term for term in terms if isinstance(term, e.EventTime | e.Attribute)]
    places = _places(part) if named else {}
    return {term: time for term in named if (time := _time(term, places, facts))}


def _places(part: p.Pattern) -> dict[str, Place]:
    """Where each variable is declared that is declared once: branches of an OR may share some."""
    found: dict[str, Place] = {}
    shared: set[str] = set()
    stack = [Place(part, ())]
    while stack:
        place = stack.pop()
        if isinstance(place.part, p.Event | p.Repeat) and place.part.variable:
            shared.update({place.part.variable} & found.keys())
            found[place.part.variable] = place
        inner = enumerate(inner_parts(place.part))
        stack.extend(Place(one, (*place.path, (place.part, number))) for number, one in inner)
    return {name: place for name, place in found.items() if name not in shared}


def _time(term: e.EventTime | e.Attribute, places: Mapping[str, Place], facts: Facts) -> Time | None:
    """Which time of which event a term is, if it is one."""
    if term.type == TIMESTAMP_NTZ and facts.query.clock.type == TIMESTAMP:
        return None  # where the session's clock is set forward, a later time of it may be an earlier instant
    place = places.get(_names(term.event)[-1])
    match place and place.part:
        case p.Event(type) | p.Repeat(p.Event(type)):
            names = {member.stream for member in facts.type(type).members}
        case _:
            return None
    streams = [stream for stream in facts.query.streams if stream.name in names]
    unit = streams[0].unit
    for end in (False, True):
        if all(stream.unit == unit and _is_time(term, end, stream) for stream in streams):
            return Time(term.event, end, (term.type, unit))
    return None


def _is_time(term: e.EventTime | e.Attribute, end: bool, stream: Stream) -> bool:
    """Whether a term gives the start, or the end, of the events of a stream.

    In a possible world an event of an imprecise stream has a time of its own, but its columns keep what
    they hold.
    """
    if isinstance(term, e.EventTime):
        return end == (bare(term.name).lower() == "te")
    column = stream.end if end else stream.start
    return column is not None and stream.latest is None and same(term.name, column)


def _names(reference: e.EventRef) -> tuple[str, ...]:
    """The variables on the way to an event, outermost first: `k` and `a` of `k[1].a`."""
    match reference:
        case e.Variable(name):
            return (name,)
        case e.At(base):
            return _names(base)
        case e.Inner(base, name):
            return (*_names(base), name)
    return ("",)  # `b[]`: many events


def _precedes(left: e.EventRef, right: e.EventRef, places: Mapping[str, Place]) -> bool:
    """Whether one event ends before the other starts, in every match that binds both."""
    one, other = places.get(_names(left)[0]), places.get(_names(right)[0])
    match left, right:
        case e.At(base, e.Index(anchor, place)), e.At(list, e.Index(mark, later)) if base == list:
            return anchor == mark and place < later
    if one is None or other is None or one == other:
        return False
    for (part, place), (same_part, later) in zip(one.path, other.path, strict=False):
        assert part is same_part, "ways part at a list"
        if place != later:
            return isinstance(part, p.Seq) and place < later
    return False
