"""How far the lanes without matches came, and what stopped them there: as `neelc why` explains it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from neelc.ir.bound_rows import Recognize
from neelc.ir.names import bare
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.events import in_order, ranked
from neelc.runtime.reference.model import LimitReached, ReferenceEvent, bound_events
from neelc.runtime.reference.question import length
from neelc.runtime.reference.recognize import Row, in_partitions
from neelc.tools.report.picture import Lane, LaneMiss, Picture, hashable
from neelc.tools.why.courses import courses
from neelc.tools.why.explaining import StartExplainer
from neelc.tools.why.model import StartExplanation, StopReason
from neelc.tools.why.questions import AnswerCache, DataEnd
from neelc.tools.why.reading import MAX_WIDENING
from neelc.tools.why.rows import explained_rows
from neelc.tools.why.stopping import CourseProgress, furthest, reported_binding, reported_event, stops

MOST_LANES = 100
"""How many lanes without matches say how far they came: the first ones."""
MOST_STARTS = 12
"""How many start events of a lane are followed: the first ones."""
MOST_EVENTS_OF_LANE = 5_000
"""Lanes with more events are not searched."""


def with_misses(picture: Picture, query: object, has_own_lanes: bool) -> Picture:
    """The picture with what stopped its lanes without matches, where lanes are the keys of a pattern."""
    if not isinstance(query, Match) or has_own_lanes or not _is_whole(picture, query):
        return picture
    return replace(picture, misses=tuple(_misses(picture, query)))


def _is_whole(picture: Picture, query: Match) -> bool:
    """Whether what is drawn says which lanes have no match, and why."""
    (first, *others) = picture.panels
    is_complete = first.total == len(first.found) and first.problem is None and first.words is not None
    is_cut = picture.shown.since is not None
    depends_on_all = query.strategy == SelectionStrategy.STRICT
    is_part = len(picture.shown.events) < picture.shown.total
    has_keys = bool(picture.keys) and not picture.symbols
    return has_keys and not others and is_complete and not is_cut and not (depends_on_all and is_part)


@dataclass(frozen=True)
class FollowedRun:
    """The furthest run of a lane, and its start."""

    start: ReferenceEvent
    run: CourseProgress


def _misses(picture: Picture, query: Match) -> Iterator[LaneMiss]:
    matched = {
        hashable(picture.lane(event))
        for one in picture.panels[0].found
        for event in bound_events(one.binding)
    }
    events = tuple(ranked(picture.shown.events))
    shown = {(event.stream, event.row): event for event in picture.shown.events}
    end = DataEnd.of(query, events) if query.complete else None
    lanes: dict[Lane, list[ReferenceEvent]] = {}
    for event in events:
        lanes.setdefault(hashable(picture.lane(event)), []).append(event)
    everywhere = lanes.pop((), [])
    missing = sorted((lane for lane in lanes if lane not in matched), key=lambda one: lanes[one][0].start)
    for lane in missing[:MOST_LANES]:
        found = in_order((*lanes[lane], *everywhere))
        if len(found) <= MOST_EVENTS_OF_LANE:
            name = picture.lane(lanes[lane][0])
            yield _miss(name, query, found, end, shown)


def _miss(
    lane: Lane,
    query: Match,
    events: Sequence[ReferenceEvent],
    end: DataEnd | None,
    shown: Mapping[tuple[str, int], ReferenceEvent],
) -> LaneMiss:
    best = _furthest(query, events)
    ways = courses(query)
    if best is None:
        types = ", ".join(dict.fromkeys(type for way in ways for type, _ in way.starters()))
        steps = _counted(0, len(ways[0].steps))
        return LaneMiss(lane, (), steps, f"there is no {types} to start with")
    run, start = best.run, best.start
    cache = AnswerCache(tuple(_around(query, events, start)), end)
    problem = ""
    try:
        stopped = stops(cache, run, start)
    except LimitReached as limit:
        stopped, problem = (), str(limit)
    explained = StartExplanation(
        {},
        reported_event(start, bare(run.course.first() or "")),
        False,
        steps=len(run.course.steps),
        reached=run.reached,
        branch=run.course.branch,
        events=reported_binding(run.binding, start),
        stopped=stopped,
    )
    bound = sorted({(one.start, one.stream, one.row) for one in (start, *bound_events(run.binding))})
    return LaneMiss(
        lane,
        tuple(shown[stream, row] for _, stream, row in bound),
        _counted(run.reached, len(run.course.steps)),
        sentence(stopped, explained) if stopped else problem,
        "\n".join(explained.lines),
        run.reached == len(run.course.steps),
    )


def _furthest(query: Match, events: Sequence[ReferenceEvent]) -> FollowedRun | None:
    """The run that came furthest among those of the first start events; None if there is no start event.

    The way to a step has no negations: nothing outside of the window that begins at the start is needed.
    """
    whole = StartExplainer(query, AnswerCache(tuple(events)))
    best: FollowedRun | None = None
    for start in whole.starts()[:MOST_STARTS]:
        near = AnswerCache(tuple(_near(query, events, start)))
        for course in courses(query):
            if whole.variable(course, start) is None:
                continue
            try:
                run = furthest(near, course, start)
            except LimitReached:
                continue
            if best is None or run.share > best.run.share:
                best = FollowedRun(start, run)
        if best is not None and best.run.share == 1:
            break
    return best


def _near(query: Match, events: Sequence[ReferenceEvent], start: ReferenceEvent) -> Iterable[ReferenceEvent]:
    within = query.within
    if within is None or within.unit == "EVENT" or query.is_imprecise:
        return events
    last = start.start + length(within)
    return (event for event in events if start.start <= event.start <= last)


def _around(query: Match, events: Sequence[ReferenceEvent], start: ReferenceEvent) -> list[ReferenceEvent]:
    """The events that can matter to what stopped a run: `neelc why` looks as far for larger windows."""
    within = query.within
    if within is None or within.unit == "EVENT" or query.is_imprecise or query.kept is not None:
        return [*events]
    low, high = start.start - length(within), start.start + MAX_WIDENING * length(within)
    return [event for event in events if event.end >= low and event.start <= high]


# Rows of MATCH_RECOGNIZE: how many fit from a row on.

MOST_ROWS = 1_000
"""Partitions with more rows are not searched."""
MOST_FIRST_ROWS = 40
"""From how many rows of a partition on it is searched: the first ones."""


def row_misses(
    query: Recognize,
    rows: Sequence[Row],
    events: Mapping[Lane, Sequence[ReferenceEvent]],
    matched: Collection[Lane],
) -> Iterator[LaneMiss]:
    """How far the partitions without matches came. `events` are their rows as they are drawn."""
    without = [
        (key, partition)
        for partition in in_partitions(query, rows)
        if (key := tuple(partition[0][name] for name in query.partition))
        and hashable(key) not in matched
        and len(events.get(hashable(key), ())) == len(partition) <= MOST_ROWS
    ]
    for key, partition in without[:MOST_LANES]:
        found = [*islice(explained_rows(query, partition, {}), MOST_FIRST_ROWS)]
        start = max(range(len(found)), key=lambda at: (found[at].reached, -at))
        best = found[start]
        fitting = f"{best.reached} row{' fits' if best.reached == 1 else 's fit'}"
        is_end = best.stopped and best.stopped[0].is_missing
        text = sentence(best.stopped, best) if best.stopped else "; ".join(best.notes)
        text = "the partition has no more rows" if is_end else text
        shown = events[hashable(key)][start : start + best.reached]
        yield LaneMiss(key, tuple(shown), fitting, text, "\n".join(best.lines))


def _counted(reached: int, steps: int) -> str:
    """
    >>> _counted(0, 1), _counted(2, 3)
    ('0 of 1 step', '2 of 3 steps')
    """
    return f"{reached} of {steps} step{'' if steps == 1 else 's'}"


def sentence(stopped: Sequence[StopReason], explained: StartExplanation) -> str:
    """The first thing that stopped a run, in a few words."""
    stop = stopped[0]
    if stop.is_missing:
        after = f" after {explained.events[-1].clock}" if explained.events else ""
        return f"no {stop.step}{after}"
    failed = stop.failed[0] if stop.failed else None
    if failed is None:
        return f"stopped at {stop.step}"
    if stop.step:
        return f"{stop.step}: {failed.text} fails{f' ({failed.detail})' if failed.detail else ''}"
    hits = ", ".join(f"{event.type} {event.clock}" for event in failed.events[:3])
    return f"stopped by {failed.text}{f': {hits}' if hits else f': {failed.detail}' if failed.detail else ''}"
