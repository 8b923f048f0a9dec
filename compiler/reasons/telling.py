"""Bindings and requirements as the values that are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from neelc.ir.logical import Match
from neelc.ir.names import bare
from neelc.ir.show_pattern import as_written, show_window
from neelc.reasons.asking import Asker
from neelc.reasons.hits import hits
from neelc.reasons.judging import part_at, size, values, views
from neelc.reasons.model import Judged, Proposal, Told
from neelc.reasons.requirements import NEXT, Requirement, requirements
from neelc.reasons.smallest import Relaxation
from neelc.reasons.texts import length_text, shown, size_text, time_of, window_size
from neelc.runtime.reference.model import Binding, Event
from neelc.runtime.reference.question import Question
from neelc.runtime.reference.satisfy import is_absent


def told(event: Event, variable: str, start: Event | None = None) -> Told:
    """An event of a match or of a run that begins with `start`."""
    after = "" if start is None or event == start else _after(event.start - start.start)
    attributes = {name: shown(value) for name, value in event.attributes.items()}
    type = "NULL" if event.type is None else str(event.type)
    return Told(variable, type, time_of(event), time_of(event, start), after, attributes)


def _after(nanoseconds: int) -> str:
    """
    >>> _after(-(10**9)), _after(0)
    ('-1 second', '+0 seconds')
    """
    return f"{'-' if nanoseconds < 0 else '+'}{length_text(abs(nanoseconds))}"


def told_binding(binding: Binding, start: Event, beside: Iterable[Event] = ()) -> tuple[Told, ...]:
    """The events of a match, in order of time, those left out that stand `beside` it already."""
    left_out = set(beside)
    found = sorted(_bound(binding, ""), key=lambda pair: (pair[1].start, pair[1].end))
    return tuple(told(event, name, start) for name, event in found if event not in left_out)


def _bound(value: object, name: str) -> Iterator[tuple[str, Event]]:
    """Each event with the name it is bound to: `a`, `b[2]`, `k[1].c`."""
    match value:
        case Event():
            yield name, value
        case Mapping():
            for inner, bound in value.items():
                yield from _bound(bound, f"{name}.{bare(inner)}" if name else bare(inner))
        case tuple():
            for place, bound in enumerate(value, 1):
                yield from _bound(bound, f"{name}[{place}]")


def held(asker: Asker, match: Match, binding: Binding) -> tuple[Judged, ...]:
    """What a match fulfils, with the values that it was judged with."""
    return tuple(
        _held(asker, match, one, binding)
        for one in requirements(match)
        if one.kind == "negation" or is_present(asker.question(match), one, binding)
    )


def is_present(asked: Question, one: Requirement, binding: Binding) -> bool:
    """Whether the part that a requirement is said of binds events: else nothing is required."""
    if one.path is None:
        return True
    pattern = asked.match.pattern
    part = part_at(pattern, one.path)
    return any(not is_absent(asked, part, view) for view in views(pattern, one.path, binding))


def _held(asker: Asker, match: Match, one: Requirement, binding: Binding) -> Judged:
    if one.window is not None:
        amount = size(asker.question(match), one, binding)
        return Judged(one.kind, one.text, size_text(amount, one.window))
    if one.kind == "negation":
        return Judged(one.kind, one.text, "none found")
    if one.kind == "confidence":
        return Judged(one.kind, one.text, confidence_text(asker.confidence(match, binding)))
    if one.kind == "strategy":
        return Judged(one.kind, one.text, "")
    return _with_values(match, one, binding)


def _with_values(match: Match, one: Requirement, binding: Binding) -> Judged:
    found = values(match, one, binding)
    return Judged(one.kind, one.text, ", ".join(f"{name} = {text}" for name, text in found), dict(found))


def failed(asker: Asker, found: Relaxation, one: Requirement, start: Event) -> Judged:
    """A requirement that a relaxation drops or widens, with what it failed with."""
    if one.window is not None:
        amount = size(asker.question(found.match), one, found.binding)
        over = amount - window_size(one.window)
        if over <= 0:  # the events that EXISTS drops are in no binding, but must be in the window
            return Judged(one.kind, one.text, "too short for what EXISTS looks for")
        much = f"{over:,} too many" if one.window.unit == "EVENT" else f"{length_text(over)} too long"
        return Judged(one.kind, one.text, f"{size_text(amount, one.window)}, {much}")
    if one.kind == "negation":
        return hit(one, hits(asker, found, one) or (), start)
    if one.kind == "confidence":
        return Judged(one.kind, one.text, confidence_text(asker.confidence(found.relaxed, found.binding)))
    if one.kind == "strategy":
        had_to = "another event had to be taken" if found.match.strategy == NEXT else "others come between"
        return Judged(one.kind, one.text, had_to)
    return _with_values(found.match, one, found.binding)


def hit(negation: Requirement, events: Sequence[Event], start: Event) -> Judged:
    """A negation and the events that hit it."""
    named = tuple(told(event, "", start) for event in events)
    text = ", ".join(f"{event.type} {event.clock}" for event in named)
    return Judged("negation", negation.text, f"hit by {text}" if text else "", events=named)


def proposal(asker: Asker, found: Relaxation, start: Event) -> Proposal:
    """A relaxation as what would be written instead."""
    changes = tuple(failed(asker, found, one, start) for one in found.requirements)
    texts = tuple(_change(asker, found, one) for one in found.requirements)
    return Proposal(texts, changes, told_binding(found.binding, start), found.relaxed)


def _change(asker: Asker, found: Relaxation, one: Requirement) -> str:
    if one.window is not None:
        return f"WITHIN {show_window(found.change.windows[one])}{_place(found.match, one)}"
    if one.kind == "strategy":
        return f"USING {found.relaxed.strategy}"
    if one.kind == "confidence":
        return f"WITH CONFIDENCE >= {confidence_text(asker.confidence(found.relaxed, found.binding))}"
    return f"without {one.text}"


def _place(match: Match, one: Requirement) -> str:
    """Of which part a window is, if it is not the query's."""
    if one.path is None:
        return ""
    part = replace(part_at(match.pattern, one.path), within=None, where=None)
    return f" on {as_written(part)}"


def confidence_text(confidence: Fraction) -> str:
    """
    >>> confidence_text(Fraction(1, 3)), confidence_text(Fraction(1, 2))
    ('0.3333', '0.5')
    """
    # Rounded down: a threshold that is told must be one that is reached.
    return f"{int(confidence * 10_000) / 10_000:g}"
