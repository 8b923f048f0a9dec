"""FROM: which streams a query reads, which types they have, and how they count time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from neelc.bind.catalog import Catalog, Entry, joined
from neelc.bind.components import paths
from neelc.bind.event_types import KnownType, report_refusal, resolve_type
from neelc.bind.findings import Findings
from neelc.bind.suggest import did_you_mean
from neelc.ir.logical import Clock
from neelc.ir.pattern import Event, Pattern
from neelc.ir.script import PatternQuery
from neelc.source import Span


@dataclass(frozen=True)
class Sources:
    """What a query reads. A type that is None has been reported; without a clock, so have all streams.

    `own_clock` has the unit that a window without a unit is measured in, if there is one.
    """

    entries: tuple[Entry, ...]
    types: dict[str, KnownType | None]
    clock: Clock | None
    own_clock: Clock | None


def sources_of(query: PatternQuery, pattern: Pattern, catalog: Catalog, findings: Findings) -> Sources:
    """The streams in FROM, or else those that provide the types of the pattern."""
    chosen = _chosen(query, catalog, findings)
    candidates = list(catalog.entries.values()) if chosen is None else chosen
    types: dict[str, KnownType | None] = {}
    for _, event in paths(pattern):
        if isinstance(event, Event) and event.type not in types:
            if types and not candidates:
                types[event.type] = None  # without any stream, the first type says it all
                continue
            span = findings.word(event.type, event, query)
            types[event.type] = resolve_type(
                event.type, catalog, candidates, chosen is not None, span, findings
            )
    if chosen is None:
        used = {entry for known in types.values() if known is not None for entry in known.entries}
        entries = tuple(entry for entry in candidates if entry in used)
    else:
        entries = tuple(chosen)
    clock = _clock(entries)
    return Sources(entries, types, clock, _own_clock(entries, clock))


def _chosen(query: PatternQuery, catalog: Catalog, findings: Findings) -> list[Entry] | None:
    """The streams that FROM names; None without a FROM."""
    if not query.streams:
        return None
    found: list[Entry] = []
    for name in query.streams:
        span = _span(name, query, findings)
        entry = catalog.entry(name)
        if entry is None:
            hint = did_you_mean(name, catalog.entries, "streams") or "declare it with CREATE STREAM"
            if catalog.concept(name) is not None:
                hint = "it is a type: name its streams, or leave FROM out"
            findings.report("NEEL2004", f"unknown stream `{name}`", span, hint)
            found.append(Entry(name, "stream", typed=True))  # whatever types it has, they are not judged
        elif entry in found:
            twice = findings.word(name, _after_pattern(query, findings), after="FROM", nth=-1)
            findings.report(
                "NEEL2214", f"stream `{name}` stands twice in FROM", twice, "leave one of them out"
            )
        else:
            if entry.stream is None:
                report_refusal(entry, span, findings)
            found.append(entry)
    return found


def _span(name: str, query: PatternQuery, findings: Findings) -> Span:
    return findings.word(name, _after_pattern(query, findings), after="FROM")


def _after_pattern(query: PatternQuery, findings: Findings) -> Span:
    whole = findings.at(query)
    return whole if query.pattern.span is None else Span(query.pattern.span.end, whole.end)


def _clock(entries: tuple[Entry, ...]) -> Clock | None:
    """The clock that can write the times of all the streams."""
    clocks = [entry.clock for entry in entries if entry.clock is not None]
    return reduce(joined, clocks) if clocks else None


def _own_clock(entries: tuple[Entry, ...], clock: Clock | None) -> Clock | None:
    """`clock`, but without a unit unless all the streams have it."""
    if clock is None or all(entry.clock is None or entry.clock.unit == clock.unit for entry in entries):
        return clock
    return replace(clock, unit=None)
