"""A picture of MATCH_RECOGNIZE: the rows of its partitions in lanes, and its matches among them.

A row is drawn as an event whose type is the variable it is mapped to, as CLASSIFIER() has it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from neelc.ir.bound_rows import HostQuery, Recognize, SimpleQuery
from neelc.ir.expressions import Attribute
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.program import Clock, Column, Stream
from neelc.ir.row_patterns import RowVariable
from neelc.ir.types import BIGINT, LENGTHS
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.model import ReferenceEvent, bound_events, nanoseconds
from neelc.runtime.reference.recognize import (
    RecognizedMatch,
    Row,
    RowContext,
    in_partitions,
    matches,
    value_at,
    value_of_row,
)
from neelc.scalar.operators import INTEGERS
from neelc.scalar.type_of import DATETIMES, type_of
from neelc.tools.report.misses import row_misses
from neelc.tools.report.picture import (
    MOST_EVENTS,
    MOST_MATCHES,
    TIME_AXIS,
    DrawnMatch,
    Keys,
    Lane,
    LaneMiss,
    Panel,
    PartOfRows,
    Picture,
    ShownEvents,
    StartNote,
    first_matches,
    hashable,
    keys_named,
    lane_of,
    remark,
    shown_events,
)
from neelc.tools.report.record import counted

UNMATCHED_ROW = "no match"
"""What stands in place of a variable at rows that are in no match."""

ROW_NUMBER = "row number"
"""The axis where ORDER BY begins with neither times nor integers."""


@dataclass(frozen=True)
class DrawnClause:
    """The clause of a query that a picture shows: its rows, and by which columns they are in lanes."""

    host: HostQuery
    query: SimpleQuery
    recognize: Recognize
    lane_columns: tuple[str, ...] = ()

    @property
    def stream(self) -> str:
        return self.query.reads if isinstance(self.query.reads, str) else "rows"

    @property
    def columns(self) -> tuple[Column, ...]:
        computed = (Column(one.name, one.type) for one in self.recognize.computed)
        return (*self.recognize.columns, *computed)

    @property
    def keys(self) -> Keys:
        if self.lane_columns:
            return keys_named([Stream(self.stream, self.columns, "")], self.lane_columns)
        return {self.stream: self.recognize.partition} if self.recognize.partition else {}

    @property
    def variables(self) -> tuple[str, ...]:
        """Those of the pattern, in order."""
        found = (node.name for node in walk(self.recognize.pattern) if isinstance(node, RowVariable))
        return tuple(dict.fromkeys(found))

    @property
    def is_filtered(self) -> bool:
        """Whether the query around the clause leaves out some of its matches."""
        query: str | SimpleQuery | None = self.host.simple
        while isinstance(query, SimpleQuery):
            if query.where is not None:
                return True
            query = query.reads if query.recognize is None else None
        return False


def drawn_clause(host: HostQuery, lane_columns: Sequence[str] = ()) -> DrawnClause:
    """The outermost clause of a query that has been understood."""
    query = None if host.simple is None else host.simple.recognizing
    assert query is not None and query.recognize is not None
    return DrawnClause(host, query, query.recognize, tuple(lane_columns))


# Where rows stand on the axis.


@dataclass(frozen=True)
class RowAxis:
    """What the axis shows: the first of ORDER BY, if it is a time or an integer in all rows, else the number
    of a row in its partition. `name` is TIME_AXIS for times."""

    name: str
    clock: Clock

    def place(self, clause: DrawnClause, row: Row, number: int) -> int:
        """Where a row stands, in nanoseconds."""
        unit = self.clock.unit or "MILLISECOND"
        if self.name == ROW_NUMBER:
            return number * LENGTHS[unit]
        found = nanoseconds(value_of_row(clause.recognize.order[0].expression, row), unit, self.clock)
        assert found is not None, "rows with NULL there have row numbers"
        return found


def row_axis(clause: DrawnClause, rows: Iterable[Row]) -> RowAxis:
    by_number = RowAxis(ROW_NUMBER, Clock(BIGINT, "MILLISECOND"))
    if not clause.recognize.order:
        return by_number
    first = clause.recognize.order[0].expression
    type = type_of(first)
    is_placed = all(isinstance(value_of_row(first, row), int | datetime.date) for row in rows)
    if type not in (*DATETIMES, *INTEGERS) or not is_placed:
        return by_number
    if type in DATETIMES:
        return RowAxis(TIME_AXIS, Clock(type))
    name = bare(first.name) if isinstance(first, Attribute) else "ORDER BY"
    units = (s.unit for s in clause.host.streams if s.name == clause.query.reads and s.start == name)
    unit = next(units, None)
    return RowAxis(name if unit is None else TIME_AXIS, Clock(BIGINT, unit or "MILLISECOND"))


# The matches of a clause among its rows.


@dataclass(frozen=True)
class DrawnRows:
    """The rows of all partitions as events, and the matches that have rows; `empty` is how many have none."""

    axis: RowAxis
    events: tuple[ReferenceEvent, ...]
    found: tuple[DrawnMatch, ...]
    empty: int = 0


def drawn_rows(clause: DrawnClause, rows: Sequence[Row]) -> DrawnRows:
    """All matches of a clause in order of the axis; `LimitReached` and `CannotSkip` as for its result."""
    axis = row_axis(clause, rows)
    events: list[ReferenceEvent] = []
    found: list[DrawnMatch] = []
    empty = 0
    for partition in in_partitions(clause.recognize, rows):
        ours = [one for one in matches(clause.recognize, partition) if one.number is not None]
        empty += sum(not one.rows for one in ours)
        here = list(_events(clause, partition, ours, axis, len(events)))
        events += here
        found += (_match(clause.recognize, partition, one, here) for one in ours if one.rows)
    found.sort(key=lambda one: min(event.start for event in bound_events(one.binding)))
    return DrawnRows(axis, tuple(events), tuple(found), empty)


def _events(
    clause: DrawnClause, rows: Sequence[Row], found: Iterable[RecognizedMatch], axis: RowAxis, before: int
) -> Iterator[ReferenceEvent]:
    """The rows of a partition, after `before` rows of others. A row of several matches can have several
    variables."""
    variables: dict[int, dict[str, None]] = {}
    for one in found:
        for mapped in one.rows:
            variables.setdefault(mapped.row, {})[mapped.variable] = None
    for number, row in enumerate(rows):
        type = ", ".join(variables.get(number, ())) or UNMATCHED_ROW
        at = axis.place(clause, row, number + 1)
        yield ReferenceEvent(clause.stream, before + number, type, at, at, row, (None, None))


def _match(
    query: Recognize, rows: Sequence[Row], found: RecognizedMatch, events: Sequence[ReferenceEvent]
) -> DrawnMatch:
    """A match with its measures, as they are at its last row."""
    seen = RowContext(rows, found.rows, found.rows, found.number)
    values = tuple(value_at(one.expression, seen) for one in query.measures)
    bound = tuple(events[one.row] for one in found.rows)
    return DrawnMatch({"rows": bound}, values, labels=tuple(one.variable for one in found.rows))


# The picture.


def clause_picture(
    clause: DrawnClause,
    rows: Sequence[Row],
    titles: tuple[str, str, str],
    most: int = MOST_EVENTS,
    notes: Sequence[StartNote] = (),
    part: PartOfRows | None = None,
) -> Picture:
    """The clause over rows, which are all or, as `part` says, whole partitions; `titles` are the file, the
    name and the text of the query."""
    drawn, keys = drawn_rows(clause, rows), clause.keys
    shown = shown_events(drawn.events, keys, first_matches(drawn.found, keys), most)
    if part is not None:
        shown = replace(shown, total=part.total, lanes=part.lanes)
    kept = frozenset(shown.events)
    whole = (one for one in drawn.found if kept.issuperset(bound_events(one.binding)))
    columns = tuple(Column(one.name, one.type) for one in clause.recognize.measures)
    panel = Panel("MATCH_RECOGNIZE", columns, tuple(islice(whole, MOST_MATCHES)), len(drawn.found))
    several = dict.fromkeys(str(event.type) for event in shown.events if event.type != UNMATCHED_ROW)
    types = dict.fromkeys(name.casefold() for name in (*clause.variables, *several))
    unit = drawn.axis.clock.unit or "MILLISECOND"
    remarks = [] if drawn.axis.name == ROW_NUMBER else [remark(one, unit) for one in notes]
    return Picture(
        *titles, drawn.axis.clock, {clause.stream: clause.columns}, keys, tuple(types), shown, (panel,),
        tuple(remarks), tuple(_notices(clause, drawn, part, bool(notes))), "row", drawn.axis.name,
        misses=tuple(_misses(clause, rows, shown, drawn)),
    )  # fmt: skip


def _misses(
    clause: DrawnClause, rows: Sequence[Row], shown: ShownEvents, drawn: DrawnRows
) -> Iterator[LaneMiss]:
    """How far the partitions without matches came, where each has a lane."""
    if clause.lane_columns or not clause.keys or shown.since is not None:
        return
    lanes: dict[Lane, list[ReferenceEvent]] = {}
    for event in sorted(shown.events, key=lambda one: one.row):
        lanes.setdefault(hashable(lane_of(event, clause.keys)), []).append(event)
    yield from row_misses(clause.recognize, rows, lanes, first_matches(drawn.found, clause.keys))


def _notices(
    clause: DrawnClause, drawn: DrawnRows, part: PartOfRows | None, has_notes: bool
) -> Iterator[str]:
    if has_notes and drawn.axis.name == ROW_NUMBER:
        yield "Notes are not drawn: ORDER BY begins with no time or integer to place them by."
    if part is not None and drawn.events:
        yield "There are more rows than a picture shows: matches are looked for in those that are drawn."
    elif part is not None:
        yield f"No row is drawn: {counted(part.total, 'row')} are more than a picture shows of one partition."
    if clause.is_filtered:
        yield "WHERE around MATCH_RECOGNIZE is not applied: all matches of the clause are drawn."
    if drawn.empty:
        yield f"Besides, {counted(drawn.empty, 'empty match', 'empty matches')}: without rows, not drawn."
