"""From events and matches to a picture, whoever has found them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from neelc.ir.algebra import Aggregator, Algebra, CountWindow
from neelc.ir.logical import Match
from neelc.ir.names import bare, find
from neelc.ir.node import walk
from neelc.ir.parts import all_parts
from neelc.ir.pattern import Event as EventPart
from neelc.report.choosing import hashable
from neelc.report.lanes import Keys, lane_keys, wanted_keys
from neelc.report.picture import MOST_MATCHES, Found, Lane, Note, Panel, Picture, Remark, Shown, lane_of
from neelc.report.shading import shades
from neelc.report.variant import own_columns
from neelc.runtime.reference.model import bound_events
from neelc.runtime.reference.question import question
from neelc.runtime.reference.times import nanoseconds


@dataclass(frozen=True)
class Subject:
    """What is drawn: a query, its name, its text and the file it stands in; `wanted` are the columns of the
    lanes, if somebody has said them. `is_partial`: it has matches that are not complete, too."""

    file: str
    name: str
    text: str
    query: Match | Algebra
    wanted: tuple[str, ...] = ()
    is_partial: bool = False

    def __post_init__(self) -> None:
        # Where one match is chosen for each start, all that are complete are drawn.
        if isinstance(self.query, Match) and self.query.partial:
            object.__setattr__(self, "query", self.query.whole)
            object.__setattr__(self, "is_partial", True)

    @property
    def keys(self) -> Keys:
        """The columns of the lanes in each stream."""
        if isinstance(self.query, Match):
            return lane_keys(self.query, self.wanted)
        streams = [stream for stream in self.query.streams if not stream.is_relation]
        for names in [self.wanted] if self.wanted else ([name] for name in _groups(self.query)):
            if self.wanted or all(find(names[0], [c.name for c in stream.columns]) for stream in streams):
                return wanted_keys(streams, names)
        return {}


def _groups(query: Algebra) -> Iterator[str]:
    """Columns of the result by which it is grouped or counted apart."""
    result = [column.name for column in query.columns]
    for node in walk(query.root):
        groups: list[str] = []
        if isinstance(node, Aggregator):
            groups = [output.name for output in node.groups]
        elif isinstance(node, CountWindow):
            groups = [attribute.name for attribute in node.partition]
        yield from (bare(name) for name in groups if find(name, result) is not None)


def first_matches(found: Iterable[Found], keys: Mapping[str, Sequence[str]]) -> dict[Lane, int]:
    """When the first match of each lane starts, that has one."""
    starts: dict[Lane, int] = {}
    for one in found:
        for event in bound_events(one.binding):
            lane = hashable(lane_of(event, keys))
            starts[lane] = min(starts.get(lane, event.start), event.start)
    return starts


def panel(title: str, query: Match, found: Sequence[Found], total: int, shown: Shown) -> Panel:
    """The first matches all of whose events are drawn, with the scopes of their negations."""
    drawn = frozenset(shown.events)
    whole = (one for one in found if all(event in drawn for event in bound_events(one.binding)))
    kept = tuple(islice(whole, MOST_MATCHES))
    asked = question(query, shown.events)
    scopes = tuple(shades(asked, one.binding) for one in kept)
    return Panel(title, own_columns(query), kept, total, scopes)


def picture(subject: Subject, shown: Shown, panels: Sequence[Panel], notes: Iterable[Note] = ()) -> Picture:
    query = subject.query
    columns = {stream.name: stream.columns for stream in query.streams if not stream.is_relation}
    unit = query.clock.unit or "MILLISECOND"
    return Picture(
        subject.file,
        subject.name,
        subject.text,
        query.clock,
        columns,
        subject.keys,
        _types(query),
        shown,
        tuple(panels),
        tuple(_remark(note, unit) for note in notes),
        subject.is_partial,
    )


def _types(query: Match | Algebra) -> tuple[str, ...]:
    """The types of events that a pattern names, in order, whatever their case."""
    if isinstance(query, Algebra):
        return ()
    members = {type.name: type.members for type in query.types}
    named = (part.type for part in all_parts(query.pattern) if isinstance(part, EventPart))
    found = (bare(member.value or member.stream) for type in named for member in members[type])
    return tuple(dict.fromkeys(name.casefold() for name in found))


def _remark(note: Note, unit: str) -> Remark:
    lane = note.key if isinstance(note.key, tuple) else (note.key,)
    return Remark(lane, nanoseconds(note.time, unit) or 0, note.text)
