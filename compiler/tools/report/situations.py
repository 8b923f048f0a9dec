"""A picture of MATCH_RECOGNIZE_TEMPORAL: in lanes by key and symbol, the runs of each symbol as bars, and the
matches among them; below, the values that the conditions are about.

The runs and the matches are those that the reference finds in the events that are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice

from neelc.explain.constraint_graph import spelled
from neelc.ir import algebra as a
from neelc.ir.allen import name_of, relation
from neelc.ir.bound_rows import SymbolDefinition, Temporal
from neelc.ir.expressions import AtRow, Attribute
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.program import Column, Program
from neelc.ir.types import STRING
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import LimitReached, Tables, payloads_read
from neelc.runtime.reference.events import ValidPayload
from neelc.runtime.reference.model import ReferenceEvent, moment
from neelc.runtime.reference.recognize import Row
from neelc.runtime.reference.temporal import (
    PartitionMatcher,
    SymbolEvent,
    TemporalMatch,
    in_order,
    partitions_in_time,
)
from neelc.runtime.values.order import comparable, extreme
from neelc.scalar.operators import is_number
from neelc.tools.report.picture import (
    MOST_EVENTS,
    MOST_MATCHES,
    DrawnMatch,
    Panel,
    PartOfRows,
    Picture,
    ShownEvents,
    StartNote,
    remark,
)
from neelc.tools.report.places import row_positions
from neelc.tools.report.record import counted, text_of

MOST_VALUES = 3
"""How many columns of a key have a lane with their values."""

MOST_CHOICES = 2_000
"""For how many choices of other symbols' runs those of a symbol are drawn whose condition names these."""

SITUATIONS = "situations"
"""What the bars are called, as events of a stream are."""

DECIDED = "decided at"


def temporal_matcher(query: a.Algebra) -> a.TemporalMatcher | None:
    """The temporal pattern of a query that is drawn: the outermost one."""
    return next((node for node in walk(query.root) if isinstance(node, a.TemporalMatcher)), None)


# The runs of symbols, partition by partition.


@dataclass(frozen=True)
class TemporalPartition:
    """The rows of one partition, by their numbers in all of the rows, and what the reference finds there."""

    key: tuple[object, ...]
    numbers: tuple[int, ...]
    matcher: PartitionMatcher

    def runs(self, symbol: SymbolDefinition) -> list[SymbolEvent]:
        """Each once, whatever events of other symbols its condition is about; the first choices of these."""
        symbols = self.matcher.symbols
        needed = _needed(symbol, symbols)
        runs: dict[tuple[int, int], SymbolEvent] = {}
        for binding in islice(self._choices(needed), MOST_CHOICES):
            for one in self.matcher.events_of(symbol, binding):
                runs.setdefault((one.start, one.end), one)
        return [runs[at] for at in sorted(runs)]

    def _choices(self, names: Sequence[str]) -> Iterator[dict[str, SymbolEvent]]:
        """The choices of an event for each of the symbols."""
        if not names:
            yield {}
            return
        for before in self._choices(names[:-1]):
            for event in self.matcher.events_of(self.matcher.symbols[names[-1]], before):
                yield {**before, names[-1]: event}


def _needed(symbol: SymbolDefinition, symbols: Mapping[str, SymbolDefinition]) -> list[str]:
    """The symbols that a condition is about, directly or not, in order."""
    found: dict[str, None] = {}
    waiting = [*symbol.depends_on]
    while waiting:
        name = waiting.pop()
        found[name] = None
        waiting += [one for one in symbols[name].depends_on if one not in found]
    return in_order([*found], symbols)


def temporal_partitions(
    clause: Temporal, rows: Sequence[Row], times: Sequence[int]
) -> Iterator[TemporalPartition]:
    """The partitions in the order of their first rows."""
    tried = [0]
    for numbers in partitions_in_time(clause, rows, times):
        key = tuple(rows[numbers[0]][name] for name in clause.partition)
        matcher = PartitionMatcher(clause, rows, times, numbers, tried)
        yield TemporalPartition(key, tuple(numbers), matcher)


def rows_and_times(payloads: Sequence[ValidPayload]) -> tuple[list[Row], list[int]]:
    """What a temporal pattern reads of its input: the attributes of each event, and when it starts."""
    rows = [next(iter(one.binding.values())).attributes for one in payloads]
    return rows, [int(one.start) for one in payloads]


# The picture.


@dataclass(frozen=True)
class FoundSituation:
    """A match, and what is drawn of it."""

    match: TemporalMatch
    drawn: DrawnMatch


@dataclass
class SituationDrawing:
    """The bars and values of a clause, as events in lanes."""

    clause: Temporal
    rows: Sequence[Row]
    times: Sequence[int]
    events: list[ReferenceEvent] = field(default_factory=list)
    scale: dict[ReferenceEvent, float] = field(default_factory=dict)
    bars: dict[tuple[object, str, int, int], ReferenceEvent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = {column.name.casefold() for column in self.clause.columns}
        self.lane = "symbol"
        while self.lane in taken:
            self.lane += "_"

    @property
    def values(self) -> list[str]:
        """The columns of numbers that conditions are about."""
        numbers = {one.name for one in self.clause.columns if is_number(one.type)}
        conditions = (one.condition for one in self.clause.symbols if one.condition is not None)
        arguments = (node.argument for one in conditions for node in walk(one) if isinstance(node, AtRow))
        named = (bare(node.name) for one in arguments for node in walk(one) if isinstance(node, Attribute))
        return [name for name in dict.fromkeys(named) if name in numbers][:MOST_VALUES]

    def draw(self, partition: TemporalPartition) -> None:
        """The runs of a partition."""
        for symbol in self.clause.symbols:
            for run in partition.runs(symbol):
                self._bar(partition, symbol, run)

    def _bar(self, partition: TemporalPartition, symbol: SymbolDefinition, run: SymbolEvent) -> None:
        key = dict(zip(self.clause.partition, partition.key, strict=True))
        attributes = {**key, self.lane: symbol.name, "events": len(run.rows)}
        for name in self.values:
            found = [self.rows[row][name] for row in run.rows if self.rows[row][name] is not None]
            attributes[name] = _range(found)
        place = (comparable(partition.key), symbol.name, run.start, run.end)
        event = ReferenceEvent(
            SITUATIONS, len(self.bars), symbol.name, run.start, run.end, attributes, (None, None)
        )
        self.bars[place] = event
        self.events.append(event)

    @property
    def bar_columns(self) -> tuple[Column, ...]:
        types = {one.name: one for one in self.clause.columns}
        keys = [types[name] for name in self.clause.partition]
        values = (Column(name, STRING) for name in self.values)
        return (*keys, Column(self.lane, STRING), Column("events", STRING), *values)

    def draw_values(self) -> None:
        """A lane of each column of numbers with the events at the heights of their values; without such
        columns, one with the events."""
        for name in self.values:
            found = [_number(row[name]) for row in self.rows]
            known = [one for one in found if one is not None]
            low, high = min(known, default=0.0), max(known, default=0.0)
            for number, value in enumerate(found):
                if value is not None:
                    event = self._raw(number, f"{name} (values)")
                    self.scale[event] = (value - low) / (high - low) if high > low else 0.5
        if not self.values:
            for number in range(len(self.rows)):
                self._raw(number, "events")

    def _raw(self, number: int, lane: str) -> ReferenceEvent:
        at = self.times[number]
        attributes = {**self.rows[number], self.lane: lane}
        place = len(self.events)
        event = ReferenceEvent("events", place, lane, at, at, attributes, (None, None))
        self.events.append(event)
        return event

    @property
    def lanes(self) -> tuple[str, ...]:
        """What the lanes of a key show, from top to bottom."""
        below = [f"{name} (values)" for name in self.values] or ["events"]
        return (*(one.name for one in self.clause.symbols), *below)

    def match(
        self, partition: TemporalPartition, found: TemporalMatch, values: tuple[object, ...]
    ) -> DrawnMatch:
        """A match, with the relations that hold in it."""
        key = comparable(partition.key)
        binding = {name: self.bars[key, name, event.start, event.end] for name, event in found.events.items()}
        return DrawnMatch(binding, values, relations=tuple(self._relations(found)))

    def _relations(self, found: TemporalMatch) -> Iterator[str]:
        """Those that the pattern is about, as they are."""
        told: dict[tuple[str, str], str] = {}
        for alternative in self.clause.alternatives:
            for one in alternative.relations:
                if {one.left, one.right} <= set(found.events):
                    told[one.left, one.right] = relation_text(one.left, one.right, found.events)
        yield from told.values()


def relation_text(left: str, right: str, events: Mapping[str, SymbolEvent]) -> str:
    """The relation between two events, by its name and its word."""
    a_ends, b_ends = ((events[name].start, events[name].end) for name in (left, right))
    word = relation(a_ends, b_ends)
    letters = {"A": left, "B": right} if len(left) == len(right) == 1 else {"A": "A", "B": "B"}
    return f"{left} {name_of(word)} {right} ({spelled(word, letters)})"


def _number(value: object) -> float | None:
    """A value as a height; None if it has none."""
    if value is None:
        return None
    number = float(str(value))
    return number if abs(number) < float("inf") else None


def _range(values: Sequence[object]) -> str:
    """The least and the greatest of some values."""
    if not values:
        return "NULL"
    low, high = text_of(extreme(values, -1)), text_of(extreme(values, 1))
    return low if low == high else f"{low} to {high}"


def situations_picture(
    matcher: a.TemporalMatcher,
    program: Program,
    place: int,
    tables: Tables,
    titles: tuple[str, str, str],
    most: int = MOST_EVENTS,
    notes: Sequence[StartNote] = (),
    part: PartOfRows | None = None,
) -> Picture:
    """The clause over rows of the streams, which are all or, as `part` says, whole partitions."""
    rows, times = rows_and_times(payloads_read(program, place, tables, matcher.input))
    clause = matcher.clause
    drawing = SituationDrawing(clause, rows, times)
    found: list[FoundSituation] = []
    problem = None
    for partition in temporal_partitions(clause, rows, times):
        drawing.draw(partition)
        try:
            for one in () if problem else partition.matcher.matches():
                values = (*one.values, moment(one.decided, matcher.clock))
                found.append(FoundSituation(one, drawing.match(partition, one, values)))
        except LimitReached as limit:
            problem, found = str(limit), []
    notices = list(_notices(program, place, matcher, part))
    bars = len(drawing.events)
    if bars + len(rows) * max(1, len(drawing.values)) <= most:
        drawing.draw_values()
    else:
        notices.append("There are too many events to draw their values, too.")
    kept = drawing.events if bars <= most else drawing.events[:most]
    events = tuple(sorted(kept, key=lambda one: (one.start, one.end)))
    shown = ShownEvents(events, max(len(drawing.events), len(events)))
    drawn = frozenset(events)
    found.sort(key=lambda one: one.match.decided)
    whole = [one for one in found if drawn.issuperset(one.drawn.binding.values())][:MOST_MATCHES]
    columns = (*clause.output, Column(DECIDED, matcher.clock.type))
    panel = Panel(
        "MATCH_RECOGNIZE_TEMPORAL", columns, tuple(one.drawn for one in whole), len(found), problem=problem
    )
    unit = matcher.clock.unit or "MILLISECOND"
    lane = (*clause.partition, drawing.lane)
    return Picture(
        *titles,
        matcher.clock,
        {SITUATIONS: drawing.bar_columns, "events": clause.columns},
        {SITUATIONS: lane, "events": lane},
        tuple(one.name.casefold() for one in clause.symbols),
        shown,
        (panel,),
        tuple(remark(note, unit) for note in notes if note.time is not None),
        tuple(notices),
        "situation",
        symbols=drawing.lanes,
        scale=drawing.scale,
        positions=tuple(row_positions(clause, matcher, rows, times, _members(whole))),
    )


def _members(found: Sequence[FoundSituation]) -> dict[int, dict[int, list[str]]]:
    """Of each row the matches that it belongs to, by their numbers, with the symbols whose runs have it."""
    members: dict[int, dict[int, list[str]]] = {}
    for number, one in enumerate(found):
        for name, event in one.match.events.items():
            for row in event.rows:
                members.setdefault(row, {}).setdefault(number, []).append(name)
    return members


def _notices(
    program: Program, place: int, matcher: a.TemporalMatcher, part: PartOfRows | None
) -> Iterator[str]:
    query = program.queries[place].query
    assert isinstance(query, a.Algebra)
    if not _is_plain(query.root, matcher):
        yield "What the query does with the matches is not drawn: all matches of the clause are."
    if part is not None:
        lanes = "" if part.lanes is None else f" of {counted(part.lanes, 'partition')}"
        yield (
            f"There are {counted(part.total, 'event')}{lanes}, more than a picture shows: situations and "
            "matches are those of the partitions that are drawn."
        )


def _is_plain(root: a.Operator, matcher: a.TemporalMatcher) -> bool:
    """Whether all matches become rows."""
    while isinstance(root, a.Projection | a.Coalesced):
        root = root.input
    return root is matcher
