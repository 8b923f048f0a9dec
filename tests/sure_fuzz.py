"""Matches of streams that are emitted when they are sure, neither before nor later, on random queries and
streams.

    PYTHONPATH=tests .venv/bin/python -m sure_fuzz --queries 300 --seed 1

After each micro-batch the reference answers the query for the events that are known, with others after the
watermark: one of each type at each instant, and some together. What was emitted must be in all of these
answers; and what is in all of them must have been emitted, apart from what `waits` lists.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from unittest.mock import patch

from answers import MAX_CANDIDATES
from fuzz_runner import fuzz
from in_kernel import as_bindings, planned_for
from in_stream import FAR, Answered, arrival, stream_answers
from stream_fuzz import drawn

from neelc.ir import patterns as p
from neelc.ir.expressions import SameAttributes
from neelc.ir.node import walk
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import LENGTHS
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import width_of
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.reference import LimitReached, Tables, candidates
from neelc.runtime.reference.model import ReferenceEvent
from neelc.runtime.reference.worlds import find_matches

INSTANTS, TOGETHER = 9, 25
"""After how many instants events come, and how many times several of them together."""


class NotSure(AssertionError):
    """A match that was emitted is taken back, or one that is sure was not emitted."""


def check_stream(match: Match, tables: Tables, seed: int, planned: KernelPlan, seen: Counter[str]) -> None:
    """Raise `NotSure` if a match is emitted too early or too late."""
    how, chance = arrival(seed), Random(seed)
    for answer in stream_answers(match, tables, how, planned):
        if answer.now == FAR:
            continue
        emitted = set(as_bindings(answer.matches))
        kept: set[object] | None = None
        for more in continuations(match, answer, planned, chance):
            found = set(answers(match, [*answer.events, *more]))
            if lost := emitted - found:
                raise NotSure(f"too early: {lost}\nuntil {answer.now}, taken back by {more}\n{how}")
            kept = found if kept is None else kept & found
            seen["continuations"] += 1
        seen["calls"] += 1
        seen["emitted"] += len(emitted)
        if late := (kept or set()) - emitted:
            why = waits(match, planned)
            seen[f"waits: {why}"] += 1
            if not why:
                raise NotSure(f"too late: {late}\nuntil {answer.now}, known are {answer.events}\n{how}")


def answers(match: Match, events: Sequence[ReferenceEvent]) -> Counter[object]:
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        return as_bindings([one.binding for one in find_matches(match, events)])


def continuations(
    match: Match, answer: Answered, planned: KernelPlan, chance: Random
) -> Iterator[list[ReferenceEvent]]:
    """Events that may yet come: none, each one alone, and some together."""
    yield []
    models = {event.stream: event for event in answer.events}
    if not models or match.within is None:
        return
    unit = LENGTHS[planned.plan.unit]
    width, counted = width_of(match.within, planned.plan.unit)
    starts = [event.start // unit for event in answer.events]
    first = min(starts) - 1 if answer.now == FIRST_TIME else answer.now + 1
    last = max(starts) + (3 if counted else width + 1)
    instants = range(first, last + 1)
    if len(instants) > INSTANTS:
        instants = sorted(chance.sample(instants, INSTANTS))  # type: ignore[assignment]
    single = [
        one
        for time in instants
        for stream in match.streams
        if stream.name in models
        for one in at(time * unit, models[stream.name], answer.events, stream.type_column, chance)
    ]
    yield from ([one] for one in single)
    for _ in range(TOGETHER if single else 0):
        some = chance.sample(single, min(len(single), chance.choice((2, 2, 3))))
        yield [replace(one, row=one.row + place) for place, one in enumerate(some)]


def at(
    time: int, model: ReferenceEvent, known: Sequence[ReferenceEvent], kind: str | None, chance: Random
) -> Iterator[ReferenceEvent]:
    """An event of each type of a stream, with attributes that others have."""
    for type in "ABCD" if kind else (model.type,):
        like = chance.choice([event for event in known if event.stream == model.stream])
        changed = {kind: type} if kind else {}
        end = time if model.start == model.end else time + chance.choice((0, 0, 1, 3)) * 1_000_000
        yield replace(
            like, row=1000, type=type, start=time, end=end, attributes={**like.attributes, **changed}
        )


def waits(match: Match, planned: KernelPlan) -> str:
    """Why a match of the query may be emitted later than it is sure; nothing if it may not."""
    parts = [part for part in walk(match.pattern) if isinstance(part, p.Pattern)]
    negative = any(isinstance(part, p.Not) for part in parts)
    reasons = {
        "the strategy looks at all events up to the end": match.strategy != SelectionStrategy.ANY_MATCH,
        "all events up to the end are counted": planned.program.counted,
        "EXISTS beside a negation": any(isinstance(part, p.Exists) for part in parts) and negative,
        "no event that is tried may be what a negation is about": any(map(_is_rare, parts))
        or (negative and any(isinstance(node, SameAttributes) for node in walk(match.pattern))),
        "a list of composites beside a negation": any(map(_is_composite_list, parts)) and negative,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _is_rare(part: p.Pattern) -> bool:
    """Whether a negation is about several events, or has conditions."""
    return isinstance(part, p.Not) and not (isinstance(part.part, p.Event) and part.part.where is None)


def _is_composite_list(part: p.Pattern) -> bool:
    return isinstance(part, p.Repeat) and not isinstance(part.part, p.Event)


def check_number(number: int, seen: Counter[str]) -> None:
    """One query over one of its streams."""
    found = drawn(number)
    if found is None:
        return
    try:
        match = found.match
        planned = planned_for(match)
        check_stream(match, found.tables[number % len(found.tables)], number, planned, seen)
        seen["queries"] += 1
    except (UnsupportedQuery, LimitReached):
        seen["refused"] += 1
    except NotSure as problem:
        raise NotSure(f"{found.match}\n{problem}") from None


if __name__ == "__main__":
    sys.exit(fuzz(check_number, "sure_fuzz", 300, "queries"))
