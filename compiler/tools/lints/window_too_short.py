"""The lint `window_too_short`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir.patterns import Pattern, Window, all_parts
from neelc.pattern.analysis.truth import least_events, least_sequence
from neelc.pattern.rules.find_impossible_window import finest_unit, is_too_small
from neelc.tools.lints.lint import LintedQuery, consequence


def window_too_short(linted: LintedQuery) -> Iterator[Diagnostic]:
    """A window that the events of its part do not fit in, whatever their times are.

    >>> from lint_examples import shown
    >>> print(shown(window_too_short, "SEQ(A a, B+ b[], C c) WITHIN 2 EVENTS"))
    2 EVENTS: 3 events do not fit in a window of 2 EVENTS: the query finds nothing
    >>> print(shown(window_too_short, "SEQ(A a, !(SEQ(B b, C c) WITHIN 0), D d)"))
    0: 2 events in a row do not fit in a window of 0 MILLISECONDS: the negative part excludes nothing

    Days are counted whole: what follows on another day follows one day later at least.

    >>> head = "CREATE STREAM S (day DATE, kind STRING) TIMESTAMP BY day TYPE BY kind; "
    >>> print(shown(window_too_short, "SEQ(A a, B b) WITHIN 12 HOURS", head))
    12 HOURS: 2 events in a row do not fit in a window of 12 HOURS: the query finds nothing
    >>> shown(window_too_short, "SEQ(A a, B b) WITHIN 1 DAY", head)

    The parts of an AND may be simultaneous, and what may be absent needs no room.

    >>> shown(window_too_short, "AND(A a, B b) WITHIN 0")
    >>> shown(window_too_short, "SEQ(A a, B? b, C* c[]) WITHIN 1 EVENT")
    """
    for window, part in _windows(linted):
        if is_too_small(window, part, linted.match):
            counted = window.unit == "EVENT"
            count = least_events(part) if counted else least_sequence(part)
            what = f"{count} events" if counted else f"{count} events in a row"
            message = f"{what} do not fit in a window of {window}: {consequence(part, linted)}"
            yield linted.warning("NEEL6005", message, window, None if counted else _hint(count, linted))


def _hint(count: int, linted: LintedQuery) -> str:
    """How long the events take, and what takes less."""
    unit = finest_unit(linted.match)
    least = f"{count - 1} {unit}{'S' if count > 2 else ''}"
    return f"times are whole {unit}S, so that they take {least} at least; AND(...) allows simultaneous events"


def _windows(linted: LintedQuery) -> Iterator[tuple[Window, Pattern]]:
    if linted.match.within is not None:
        yield linted.match.within, linted.match.pattern
    for part in all_parts(linted.match.pattern):
        if part.within is not None:
            yield part.within, part
