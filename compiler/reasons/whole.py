"""Why: from the rows of streams to the explanations of all start events that are asked for."""

from __future__ import annotations

from dataclasses import replace

from neelc.errors import Diagnostic, NeelError
from neelc.ir.logical import Match, NamedQuery
from neelc.reasons.asking import Asker
from neelc.reasons.explaining import Explaining
from neelc.reasons.keys import Group, groups
from neelc.reasons.model import Explanation, Why
from neelc.reasons.reading import Asked
from neelc.runtime.reference import LimitReached, Tables, events_read
from neelc.runtime.reference.model import Event
from neelc.source import Source, Span

MAX_EVENTS = 20_000
"""How many events of the keys and times that are asked for may be looked at."""
MAX_STARTS = 1_000
"""How many start events are explained at once."""
FEWER = "ask for one key, or for less time: --key and --between"


def why(asked: Asked, tables: Tables, source: Source) -> Why:
    """The explanations of a query's start events; `NeelError` if there is more to look at than is allowed."""
    try:
        events = _events(asked, tables)
    except LimitReached as limit:
        raise limited(asked, source, str(limit)) from None
    found = groups(asked.match, events, asked.keys)
    count = sum(len(group.events) for group in found)
    if count > MAX_EVENTS:
        raise too_many(asked, source, count)
    starts = [(group, _starts(asked, group)) for group in found]
    count = sum(len(of_group) for _, of_group in starts)
    if count > MAX_STARTS:
        raise limited(asked, source, f"{count:,} start events: the limit MAX_STARTS is {MAX_STARTS:,}")
    return Why(
        str(asked.match.pattern),
        tuple(one for group, of_group in starts for one in _explained(asked.match, group, of_group)),
    )


def _events(asked: Asked, tables: Tables) -> list[Event]:
    """The events of the query's streams that can matter."""
    needed, span = asked.needed(), asked.range()
    events = events_read(needed, len(needed.queries) - 1, tables)
    return [event for event in events if span is None or span[0] <= event.start <= span[1]]


def rows_looked_at(asked: Asked, tables: Tables) -> Tables:
    """The rows of the streams without those of other keys and times."""
    found = groups(asked.match, _events(asked, tables), asked.keys)
    kept = {(event.stream, event.row) for group in found for event in group.events}
    direct = {stream.name for stream, is_filtered in asked.streams() if is_filtered}
    return {
        name: [row for place, row in enumerate(rows) if name not in direct or (name, place) in kept]
        for name, rows in tables.items()
    }


def _starts(asked: Asked, group: Group) -> list[Event]:
    explaining = Explaining(asked.match, Asker(group.events))
    return [event for event in explaining.starts() if asked.starts(event)]


def _explained(match: Match, group: Group, starts: list[Event]) -> list[Explanation]:
    explaining = Explaining(match, Asker(group.events))
    return [
        replace(
            explaining.explanation(start, group.key),
            place=(group.values if group.key else (start.type,), start.times[0]),
        )
        for start in starts
    ]


def too_many(asked: Asked, source: Source, count: int | None = None) -> NeelError:
    """More events than may be looked at."""
    there = "too many events" if count is None else f"{count:,} events"
    return limited(asked, source, f"{there} to explain: the limit MAX_EVENTS is {MAX_EVENTS:,}")


def limited(asked: Asked, source: Source, message: str) -> NeelError:
    """A limit is reached."""
    place = span_of(asked.program.queries[asked.place])
    return NeelError([Diagnostic("NEEL5007", message, place, FEWER)], source)


def span_of(named: NamedQuery) -> Span:
    """Where a query stands."""
    pattern = named.query.pattern.span if isinstance(named.query, Match) else None
    return pattern or named.query.span or named.span or Span(0, 1)


def refuse(named: NamedQuery, source: Source) -> None:
    """Raise `NeelError` for a query without start events and steps."""
    if not isinstance(named.query, Match):
        hint = "make a PATTERN of what it looks for, or ask why of the queries that it reads"
        message = "not possible: why for a SELECT; it has no matches that start with an event"
        raise NeelError([Diagnostic("NEEL4001", message, span_of(named), hint)], source)


def refusal_of_rows(span: Span, source: Source) -> NeelError:
    """MATCH_RECOGNIZE is explained only where Spark is not needed."""
    hint = "`neelc why --engine reference` explains it for files, if the query around it is simple"
    return NeelError(
        [Diagnostic("NEEL4001", "not supported yet: why for MATCH_RECOGNIZE on Spark", span, hint)], source
    )
