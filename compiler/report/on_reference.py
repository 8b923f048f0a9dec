"""A picture of what the reference interpreter finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neelc.ir.algebra import Algebra
from neelc.ir.logical import Program
from neelc.report.choosing import shown_events
from neelc.report.drawing import Subject, first_matches, panel, picture
from neelc.report.picture import MOST_EVENTS, MOST_MATCHES, Found, Note, Panel, Picture, Shown
from neelc.report.strategies import Way, ways
from neelc.report.variant import own_outputs
from neelc.runtime.reference import Event, LimitReached, Tables, events_read, run
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import bound_events
from neelc.runtime.reference.results import context
from neelc.runtime.reference.times import nanoseconds
from neelc.runtime.reference.worlds import find_matches


def reference_picture(
    subject: Subject,
    program: Program,
    place: int,
    tables: Tables,
    compare: bool = False,
    notes: Iterable[Note] = (),
    most: int = MOST_EVENTS,
) -> Picture:
    """The query at a place of the script, with all its matches, found anew."""
    events = events_read(program, place, tables)
    if isinstance(subject.query, Algebra):
        shown = shown_events(events, subject.keys, {}, most)
        return picture(subject, shown, [_rows(subject.query, program, place, tables)], notes)
    asked = ways(subject.query, compare)
    found = [_found(way, events) for way in asked]
    starts = first_matches((one for some in found if isinstance(some, list) for one in some), subject.keys)
    shown = shown_events(events, subject.keys, starts, most)
    return picture(
        subject, shown, [_panel(way, some, shown) for way, some in zip(asked, found, strict=True)], notes
    )


def _found(way: Way, events: Sequence[Event]) -> list[Found] | str:
    """The matches in order of time, or why there are none."""
    if way.problem is not None:
        return way.problem
    try:
        matches = find_matches(way.query, events)
    except LimitReached as limit:
        return str(limit)
    contexts = (context(one, way.query.clock) for one in matches)
    outputs = own_outputs(way.query)
    found = [Found(c.binding, tuple(evaluate(o.expression, c) for o in outputs)) for c in contexts]
    return sorted(found, key=lambda one: [(event.start, event.end) for event in bound_events(one.binding)])


def _panel(way: Way, found: list[Found] | str, shown: Shown) -> Panel:
    if isinstance(found, str):
        return Panel(way.strategy, problem=found)
    return panel(way.strategy, way.query, found, len(found), shown)


def _rows(query: Algebra, program: Program, place: int, tables: Tables) -> Panel:
    """The rows of a SELECT with the time at which they are valid."""
    _, result = run(program, tables)[place]
    return rows_panel(query, result.rows)


def rows_panel(query: Algebra, rows: Sequence[Sequence[object]], total: int | None = None) -> Panel:
    """Rows whose last two values are `ts` and `te`; one without an end lasts."""
    unit = query.clock.unit or "MILLISECOND"
    found = [
        Found({}, tuple(row[:-2]), nanoseconds(row[-2], unit), nanoseconds(row[-1], unit)) for row in rows
    ]
    found.sort(key=lambda one: one.start or 0)
    kept = tuple(found[:MOST_MATCHES])
    number = len(found) if total is None else total
    return Panel("SELECT", query.columns[:-2], kept, number, words=("row", "rows"))
