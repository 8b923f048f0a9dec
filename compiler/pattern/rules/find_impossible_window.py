"""The rule `find_impossible_window`."""

from __future__ import annotations

from neelc.ir.expressions import Literal
from neelc.ir.patterns import Pattern, Window
from neelc.ir.program import Match, Stream
from neelc.ir.types import DATE, LENGTHS, TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.pattern.analysis.absent import impossible
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.analysis.truth import least_events, least_sequence

TICKS: dict[DataType, str] = {DATE: "DAY", TIMESTAMP: "MICROSECOND", TIMESTAMP_NTZ: "MICROSECOND"}


def find_impossible_window(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """A window too small for the events that must lie in it leaves its part no match.

    All events of a part are among those that `WITHIN n EVENTS` counts, and no two are the same. Of events
    that follow each other in a SEQ, each starts at least one tick of the clock after the one before ends.

    >>> from pattern_examples import after
    >>> print(after(find_impossible_window, "AND(A a, B b, C? c) WITHIN 1 EVENT"))
    AND(A a, B b, C? c WHERE FALSE)
    >>> print(after(find_impossible_window, "SEQ(A a, B{2} b[], C c) WITHIN 2 MILLISECONDS"))
    SEQ(A a, B{2} b[], C c WHERE FALSE)
    >>> print(after(find_impossible_window, "SEQ(A a, SEQ(B b, C c) WITHIN 0, D d)"))
    SEQ(A a, SEQ(B b, C c WHERE FALSE) WITHIN 0 MILLISECONDS, D d)

    Parts of an AND may be simultaneous. So may those of a SEQ, as far as windows see, where THEN BY orders
    events of the same time. What EXISTS drops, what may be absent and what is negative is not
    measured.

    >>> after(find_impossible_window, "AND(A a, B b) WITHIN 0")
    >>> after(find_impossible_window, "EXISTS b : SEQ(A a, B b, !C c, D? d) WITHIN 1 EVENT")
    """
    windows = [part.within, *([facts.query.within] if part is facts.query.pattern else [])]
    if any(window and is_too_small(window, part, facts.query) for window in windows):
        return impossible(part, facts)
    return None


def is_too_small(window: Window, part: Pattern, query: Match) -> bool:
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), "a bound window"
    if window.unit == "EVENT":
        return window.count.value < least_events(part)
    tick = 0 if query.order_types else LENGTHS[finest_unit(query)]
    return window.count.value * LENGTHS[window.unit or ""] < (least_sequence(part) - 1) * tick


def finest_unit(query: Match) -> str:
    """The unit that all times are whole numbers of."""
    return min(map(_tick, query.streams), key=LENGTHS.__getitem__)


def _tick(stream: Stream) -> str:
    """The unit of a stream's times. A named query has those of its own streams, which are not known here."""
    kinds = [column.type for column in stream.columns if column.name == stream.start]
    return TICKS.get(kinds[0], stream.unit) if kinds and stream.query is None else "NANOSECOND"
