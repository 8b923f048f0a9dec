"""Explanations as text: a headline for each start, the events, what stopped it, what would match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from neelc.data.layout import aligned
from neelc.reasons.model import Explanation, Judged, Proposal, Stop, Told, Why

MAX_EVENTS_SHOWN = 12
"""Of how many events a text shows a row each: lists can be long. JSON has all of them."""


MAX_RUNS_SHOWN = 5


class Line(NamedTuple):
    """A line of text, and what it is: key, good, bad, open, proposal, note or empty for all else."""

    text: str
    kind: str = ""


def whole(why: Why) -> str:
    """All explanations, and how many there are of each kind."""
    return "".join(f"{line.text}\n" for line in marked(why))


def marked(why: Why) -> Iterator[Line]:
    """All lines, each with its kind."""
    for key, explanations in groupby(why.explanations, key=lambda one: one.key):
        if key:
            yield from (Line(key_text(key), "key"), Line(""))
        for one in explanations:
            yield from (*lines_of(one), Line(""))
    yield Line(summary(why))


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


def lines(explanation: Explanation) -> Iterator[str]:
    return (line.text for line in lines_of(explanation))


def lines_of(one: Explanation) -> Iterator[Line]:
    """What is told of one start."""
    named = one.start.variable not in ("", one.start.type)
    start = f"{one.start.type} {one.start.variable}" if named else one.start.type
    verdict, kind = _verdict(one)
    yield Line(f"{start} at {one.start.time}: {verdict}", kind)
    if one.branch is not None:
        yield Line(f"  in {one.branch}")
    yield from _indented(_events(one.events))
    yield from _indented(_judged(one.held, "holds"))
    for place, stop in enumerate(one.stopped):
        yield from _stop(stop, one, is_first=place == 0 or not one.stopped[0].step)
    yield from _indented(_others(one))
    for proposal in one.proposals:
        yield from _proposal(proposal, one.stopped)
    yield from (Line(f"  note: {note}", "note") for note in one.notes)


def _verdict(one: Explanation) -> tuple[str, str]:
    if one.matches is None:
        return "undecided", "open"
    if one.matches:
        more = f"; {one.count:,} matches, the first one is" if one.count > 1 else ""
        return f"match{more}", "good"
    if one.steps == 0:  # rows have no steps: a row is read after the other
        return f"no match, {one.reached:,} row{' fits' if one.reached == 1 else 's fit'}", "bad"
    return f"no match, {one.reached} of {one.steps} step{'' if one.steps == 1 else 's'}", "bad"


def _events(events: Sequence[Told]) -> Iterator[str]:
    rows = [[event.variable, event.type, event.clock, event.after] for event in events]
    shown = rows if len(rows) <= MAX_EVENTS_SHOWN else rows[: MAX_EVENTS_SHOWN - 1]
    yield from (line.rstrip() for line in aligned(shown))
    if len(shown) < len(rows):
        yield f"and {len(rows) - len(shown):,} more"


def _others(one: Explanation) -> Iterator[str]:
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


def _judged(judged: Iterable[Judged], word: str) -> Iterator[str]:
    rows = [[word, one.text, one.detail] for one in judged]
    yield from (line.rstrip() for line in aligned(rows))


def _stop(stop: Stop, one: Explanation, is_first: bool) -> Iterator[Line]:
    if stop.is_missing:
        yield Line(f"  stopped at {stop.step}: {_nothing(one)}")
    elif stop.step:
        what = "" if stop.failed else " what fails there cannot be told in detail"
        yield Line(f"  {'stopped at' if is_first else 'or at'} {stop.step}:{what}")
        yield from _indented(_events(stop.events), 4)
        yield from _indented(_judged(stop.failed, "fails"), 4)
    for negation in () if stop.step else stop.failed:
        yield Line(f"  stopped by {negation.text}{', which is hit by:' if negation.events else ''}")
        rows = [[event.type, event.clock, event.after] for event in negation.events]
        yield from _indented(aligned(rows), 4)


def _nothing(one: Explanation) -> str:
    """There is no event for the next step."""
    return f"there is none after {one.events[-1].clock}" if one.events else "there is none"


def _proposal(proposal: Proposal, stops: Sequence[Stop]) -> Iterator[Line]:
    """A change in each line, and what it is made for, where that was not said before."""
    said = {(one.text, one.detail) for stop in stops for one in stop.failed}
    for place, (change, one) in enumerate(zip(proposal.texts, proposal.changes, strict=True)):
        reason = f"  ({one.detail})" if one.detail and (one.text, one.detail) not in said else ""
        yield Line(f"  {'and' if place else 'would match':>11} {change}{reason}", "proposal")


def _indented(lines: Iterable[str], by: int = 2) -> Iterator[Line]:
    return (Line(" " * by + line) for line in lines)
