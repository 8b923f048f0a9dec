"""The lint `window_too_short`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir.patterns import Pattern, Window, all_parts
from neelc.pattern.analysis.contradictions import least_events, least_sequence
from neelc.pattern.rules.find_impossible_window import finest_unit, is_too_small
from neelc.tools.lints.lint import LintedQuery, consequence


def window_too_short(asked: LintedQuery) -> Iterator[Diagnostic]:
    """A window that the events of its part do not fit in, whatever their times are.

    >>> from neelc.tools.lints.examples import told
    >>> print(told(window_too_short, "SEQ(A a, B+ b[], C c) WITHIN 2 EVENTS"))
    2 EVENTS: 3 events do not fit in a window of 2 EVENTS: the query finds nothing
    >>> print(told(window_too_short, "SEQ(A a, !(SEQ(B b, C c) WITHIN 0), D d)"))
    0: 2 events in a row do not fit in a window of 0 MILLISECONDS: the negative part excludes nothing

    Days are counted whole: what follows on another day follows one day later at least.

    >>> head = "CREATE STREAM S (day DATE, kind STRING) TIMESTAMP BY day TYPE BY kind; "
    >>> print(told(window_too_short, "SEQ(A a, B b) WITHIN 12 HOURS", head))
    12 HOURS: 2 events in a row do not fit in a window of 12 HOURS: the query finds nothing
    >>> told(window_too_short, "SEQ(A a, B b) WITHIN 1 DAY", head)

    The parts of an AND may be simultaneous, and what may be absent needs no room.

    >>> told(window_too_short, "AND(A a, B b) WITHIN 0")
    >>> told(window_too_short, "SEQ(A a, B? b, C* c[]) WITHIN 1 EVENT")
    """
    for window, part in _windows(asked):
        if is_too_small(window, part, asked.match):
            counted = window.unit == "EVENT"
            count = least_events(part) if counted else least_sequence(part)
            what = f"{count} events" if counted else f"{count} events in a row"
            message = f"{what} do not fit in a window of {window}: {consequence(part, asked)}"
            yield asked.warning("NEEL6005", message, window, None if counted else _hint(count, asked))


def _hint(count: int, asked: LintedQuery) -> str:
    """How long the events take, and what takes less."""
    unit = finest_unit(asked.match)
    least = f"{count - 1} {unit}{'S' if count > 2 else ''}"
    return f"times are whole {unit}S, so that they take {least} at least; AND(...) allows simultaneous events"


def _windows(asked: LintedQuery) -> Iterator[tuple[Window, Pattern]]:
    if asked.match.within is not None:
        yield asked.match.within, asked.match.pattern
    for part in all_parts(asked.match.pattern):
        if part.within is not None:
            yield part.within, part
