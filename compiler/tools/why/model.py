"""What is reported for a start event: plain values, for texts, for JSON and for pages."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from itertools import groupby
from typing import NamedTuple

from neelc.catalog import inputs as cells
from neelc.catalog.inputs import aligned
from neelc.ir.expressions import Literal
from neelc.ir.patterns import Window
from neelc.ir.program import Match
from neelc.ir.types import BIGINT, INT, LENGTHS, VOID, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.model import ReferenceEvent
from neelc.runtime.reference.question import length, size


@dataclass(frozen=True)
class ReportedEvent:
    """An event of a match or of a run: which variable it is bound to, or would be; its type and its time.

    `clock` is the time of day, if the start is on the same day, else the time; `after` is how long after
    the start that was.
    """

    variable: str
    type: str
    time: str
    clock: str
    after: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckedRequirement:
    """A requirement of the query, and the values or events it was checked with.

    `kind` is condition, same, partition, window, negation, complete, strategy or confidence. `detail` is
    the result as text: the values, by how much a window was missed, which events hit the negation.
    """

    kind: str
    text: str
    detail: str
    values: Mapping[str, str] = field(default_factory=dict)
    events: tuple[ReportedEvent, ...] = ()
    is_word: bool = False
    """Whether it is a NEXT or STRICT of the query, and the `detail` says it all."""


@dataclass(frozen=True)
class StopReason:
    """Why a run did not come to the next step: what failed there, and the events it failed with.

    `step` is empty if all steps were reached, and negations reject the match. `is_missing`: there was no
    event for the step at all.
    """

    step: str
    failed: tuple[CheckedRequirement, ...]
    events: tuple[ReportedEvent, ...] = ()
    is_missing: bool = False


@dataclass(frozen=True)
class OtherRun:
    """A run that came no further than the one reported in full: the steps reached, the events."""

    reached: int
    events: tuple[ReportedEvent, ...]


@dataclass(frozen=True)
class Proposal:
    """A relaxation that would match, why each change is needed, and the match it would have.

    `texts` are what would be written instead, one for each of the changes. `query` is the relaxed query,
    which has been run.
    """

    texts: tuple[str, ...]
    changes: tuple[CheckedRequirement, ...]
    events: tuple[ReportedEvent, ...]
    query: Match = field(repr=False)

    @property
    def text(self) -> str:
        """All changes in one line."""
        return " and ".join(self.texts)

    def as_record(self) -> dict[str, object]:
        return {
            "text": self.text,
            "changes": [asdict(change) for change in self.changes],
            "events": [asdict(event) for event in self.events],
        }


@dataclass(frozen=True)
class ExplanationNote:
    """An explanation as pictures of matches take it: the key and the time of the start as the stream has
    them, and a text."""

    key: tuple[object, ...]
    time: object
    text: str


@dataclass(frozen=True)
class StartExplanation:
    """Why a start event has a match, or has none.

    `matches` is None where that could not be found out: `notes` says why. `count` is the number of matches
    that start with the event; `reached` of `steps` steps were reached; `events` are those of the match, or
    of the furthest run, beside which there were `others`. `branch` is the branch of an OR that came furthest.
    `place` is the key and the time of the start as values, not texts.
    """

    key: Mapping[str, str]
    start: ReportedEvent
    matches: bool | None
    steps: int = 0
    reached: int = 0
    count: int = 0
    branch: str | None = None
    events: tuple[ReportedEvent, ...] = ()
    held: tuple[CheckedRequirement, ...] = ()
    stopped: tuple[StopReason, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = ()
    others: tuple[OtherRun, ...] = ()
    place: tuple[tuple[object, ...], object] = field(default=((), None), repr=False)

    @property
    def note(self) -> ExplanationNote:
        """The explanation for a picture."""
        return ExplanationNote(*self.place, "\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation as text, line by line; the first one is the headline."""

        return tuple(lines(self))

    def as_record(self) -> dict[str, object]:
        """The explanation as plain values, for JSON."""
        record = asdict(replace(self, proposals=(), place=((), None)))
        del record["place"]
        return {
            **record,
            "proposals": [proposal.as_record() for proposal in self.proposals],
            "lines": list(self.lines),
        }


@dataclass(frozen=True)
class Why:
    """The explanations of all requested start events, in order of key and time."""

    query: str
    explanations: tuple[StartExplanation, ...]

    @property
    def text(self) -> str:
        """All of it, for a terminal."""

        return whole(self)

    def __str__(self) -> str:
        return self.text

    @property
    def notes(self) -> tuple[ExplanationNote, ...]:
        """All explanations for a picture: `neelc.timeline(..., why=neelc.why(...).notes)`."""
        return tuple(one.note for one in self.explanations)

    def json(self) -> str:
        """All of it as JSON."""
        record = {
            "query": self.query,
            "starts": len(self.explanations),
            "matching": sum(one.matches is True for one in self.explanations),
            "explanations": [one.as_record() for one in self.explanations],
        }
        return json.dumps(record, indent=2, ensure_ascii=False)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.text)}</pre>"


# Explanations as text: a headline for each start, the events, what stopped it, what would match.

MAX_EVENTS_SHOWN = 12
"""How many events a text shows, a row each: lists can be long. JSON has all of them."""


MAX_RUNS_SHOWN = 5


class ReportLine(NamedTuple):
    """A line of text, and what it is: key, good, bad, open, proposal, note or empty for all else."""

    text: str
    kind: str = ""


def whole(why: Why) -> str:
    """All explanations, and how many there are of each kind."""
    return "".join(f"{line.text}\n" for line in marked(why))


def marked(why: Why) -> Iterator[ReportLine]:
    """All lines, each with its kind."""
    for key, explanations in groupby(why.explanations, key=lambda one: one.key):
        if key:
            yield from (ReportLine(key_text(key), "key"), ReportLine(""))
        for one in explanations:
            yield from (*lines_of(one), ReportLine(""))
    yield ReportLine(summary(why))


def key_text(key: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in key.items())


def summary(why: Why) -> str:
    """
    >>> summary(Why("PATTERN A a", ()))
    'no start events'
    """
    found = [one.matches for one in why.explanations]
    if not found:
        return "no start events"
    parts = [f"{found.count(True)} with a match", f"{found.count(False)} without"]
    parts += [f"{found.count(None)} undecided"] if None in found else []
    return f"{len(found)} start event{'' if len(found) == 1 else 's'}: {', '.join(parts)}"


def lines(explanation: StartExplanation) -> Iterator[str]:
    return (line.text for line in lines_of(explanation))


def lines_of(one: StartExplanation) -> Iterator[ReportLine]:
    """The report on one start."""
    named = one.start.variable not in ("", one.start.type)
    start = f"{one.start.type} {one.start.variable}" if named else one.start.type
    verdict, kind = _verdict(one)
    yield ReportLine(f"{start} at {one.start.time}: {verdict}", kind)
    if one.branch is not None:
        yield ReportLine(f"  in {one.branch}")
    yield from _indented(_events(one.events))
    yield from _indented(_checked(one.held, "holds"))
    for place, stop in enumerate(one.stopped):
        yield from _stop(stop, one, is_first=place == 0 or not one.stopped[0].step)
    yield from _indented(_others(one))
    for proposal in one.proposals:
        yield from _proposal(proposal, one.stopped)
    yield from (ReportLine(f"  note: {note}", "note") for note in one.notes)


def _verdict(one: StartExplanation) -> tuple[str, str]:
    if one.matches is None:
        return "undecided", "open"
    if one.matches:
        more = f"; {one.count:,} matches, the first one is" if one.count > 1 else ""
        return f"match{more}", "good"
    if one.steps == 0:  # rows have no steps: a row is read after the other
        return f"no match, {one.reached:,} row{' fits' if one.reached == 1 else 's fit'}", "bad"
    return f"no match, {one.reached} of {one.steps} step{'' if one.steps == 1 else 's'}", "bad"


def _events(events: Sequence[ReportedEvent]) -> Iterator[str]:
    rows = [[event.variable, event.type, event.clock, event.after] for event in events]
    shown = rows if len(rows) <= MAX_EVENTS_SHOWN else rows[: MAX_EVENTS_SHOWN - 1]
    yield from (line.rstrip() for line in aligned(shown))
    if len(shown) < len(rows):
        yield f"and {len(rows) - len(shown):,} more"


def _others(one: StartExplanation) -> Iterator[str]:
    """How far the other runs came: a line for each, with the last event that it bound."""
    if one.others:
        yield f"{len(one.others):,} other run{'' if len(one.others) == 1 else 's'}:"
    rows = [
        [f"  {run.reached} of {one.steps} steps", last.variable, last.type, last.clock, last.after]
        for run in one.others[:MAX_RUNS_SHOWN]
        for last in run.events[-1:]
    ]
    yield from (line.rstrip() for line in aligned(rows))
    if len(one.others) > MAX_RUNS_SHOWN:
        yield f"  and {len(one.others) - MAX_RUNS_SHOWN:,} more"


def _checked(requirements: Iterable[CheckedRequirement], word: str) -> Iterator[str]:
    rows = [[word, one.text, one.detail] for one in requirements]
    yield from (line.rstrip() for line in aligned(rows))


def _stop(stop: StopReason, one: StartExplanation, is_first: bool) -> Iterator[ReportLine]:
    if stop.is_missing:
        yield ReportLine(f"  stopped at {stop.step}: {_nothing(one)}")
    elif stop.step:
        what = "" if stop.failed else " no details on what fails there"
        yield ReportLine(f"  {'stopped at' if is_first else 'or at'} {stop.step}:{what}")
        yield from _indented(_events(stop.events), 4)
        yield from _indented(_checked(stop.failed, "fails"), 4)
    for negation in () if stop.step else stop.failed:
        if negation.is_word:
            yield ReportLine(f"  skipped because of {negation.text}: {negation.detail}")
            continue
        reason = f": {negation.detail}" if negation.kind == "complete" else ""
        reason = ", which is hit by:" if negation.events else reason
        yield ReportLine(f"  stopped by {negation.text}{reason}")
        rows = [[event.type, event.clock, event.after] for event in negation.events]
        yield from _indented(aligned(rows), 4)


def _nothing(one: StartExplanation) -> str:
    """There is no event for the next step."""
    return f"there is none after {one.events[-1].clock}" if one.events else "there is none"


def _proposal(proposal: Proposal, stops: Sequence[StopReason]) -> Iterator[ReportLine]:
    """A change in each line, and its reason, unless the report already has it."""
    reported = {(one.text, one.detail) for stop in stops for one in stop.failed}
    for place, (change, one) in enumerate(zip(proposal.texts, proposal.changes, strict=True)):
        reason = f"  ({one.detail})" if one.detail and (one.text, one.detail) not in reported else ""
        yield ReportLine(f"  {'and' if place else 'would match':>11} {change}{reason}", "proposal")


def _indented(lines: Iterable[str], by: int = 2) -> Iterator[ReportLine]:
    return (ReportLine(" " * by + line) for line in lines)


# Values, times and lengths of time as people read them.

FEW = 100
"""Lengths of fewer units than this are shown in that unit."""


def shown(value: object, type: DataType = VOID) -> str:
    """A value as it would be written in a query.

    >>> shown("surgery"), shown(None), shown(1.5), shown(datetime.date(2024, 3, 1))
    ("'surgery'", 'NULL', '1.5', '2024-03-01')
    """
    match value:
        case None:
            return "NULL"
        case str():
            return cells.quoted(value)
    return cells.render(value, type)


def time_of(event: ReferenceEvent, beside: ReferenceEvent | None = None) -> str:
    """When an event was; with `beside`, on the day of that event, the time of day alone.

    >>> one, two = (datetime.datetime(2024, 3, 1, hour) for hour in (8, 9))
    >>> first, second = (ReferenceEvent("S", n, "A", n, n, {}, (t, t)) for n, t in enumerate([one, two]))
    >>> time_of(first), time_of(second, first)
    ('2024-03-01 08:00:00', '09:00:00')
    """
    starts, ends = (_time(value, beside) for value in event.times)
    return starts if starts == ends else f"{starts} to {ends}"


def _time(value: object, beside: ReferenceEvent | None) -> str:
    text = shown(value)
    other = beside.times[0] if beside is not None else None
    if isinstance(value, datetime.datetime) and isinstance(other, datetime.datetime):
        day, _, time = text.partition(" ")
        return time if shown(other).startswith(day) else text
    return text


def length_text(nanoseconds: int) -> str:
    """A length of time: in one unit where that is a small number, else in days, hours, minutes and seconds.

    >>> length_text(72 * 60 * 10**9), length_text(10**9), length_text(0), length_text(5 * 10**6)
    ('72 minutes', '1 second', '0 seconds', '5 milliseconds')
    >>> length_text(85_504 * 10**6), length_text(1_500 * 10**6), length_text(100_000 * 10**9)
    ('1 minute 25.504 seconds', '1.5 seconds', '1 day 3 hours 46 minutes 40 seconds')
    """
    if nanoseconds == 0:
        return "0 seconds"
    unit = next(unit for unit in LENGTHS if unit != "WEEK" and nanoseconds % LENGTHS[unit] == 0)
    count = nanoseconds // LENGTHS[unit]
    if count < FEW:
        return _counted(str(count), unit)
    parts, rest = [], nanoseconds
    for unit in ("DAY", "HOUR", "MINUTE"):
        count, rest = divmod(rest, LENGTHS[unit])
        parts += [_counted(str(count), unit)] if count else []
    whole, fraction = divmod(rest, LENGTHS["SECOND"])
    seconds = f"{whole}.{fraction:09d}".rstrip("0").rstrip(".")
    return " ".join([*parts, *([_counted(seconds, "SECOND")] if rest else [])])


def _counted(count: str, unit: str) -> str:
    return f"{count} {unit.lower()}{'' if count == '1' else 's'}"


def size_text(amount: int, window: Window) -> str:
    """The size of a window like this one, in words."""
    if window.unit == "EVENT":
        return f"{amount:,} event{'' if amount == 1 else 's'}"
    return length_text(amount)


def window_of(amount: int, window: Window) -> Window:
    """A window of this size: in the unit of `window` where that is a whole number, else in a smaller one.

    >>> print(window_of(72 * 60 * 10**9, Window(Literal(1, BIGINT), "HOUR")))
    72 MINUTES
    """
    if window.unit == "EVENT":
        return Window(_whole(amount), "EVENT")
    units = list(LENGTHS)
    smaller = units[units.index(window.unit or "NANOSECOND") :]
    unit = next(unit for unit in smaller if amount % LENGTHS[unit] == 0)
    return Window(_whole(amount // LENGTHS[unit]), unit)


def _whole(number: int) -> Literal:
    return Literal(number, INT if number < 2**31 else BIGINT)


def window_size(window: Window) -> int:
    """The size of a window: nanoseconds, or a number of events."""
    return size(window) if window.unit == "EVENT" else length(window)
