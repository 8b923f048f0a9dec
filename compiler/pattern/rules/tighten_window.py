"""The rule `tighten_window`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.program import Match
from neelc.pattern.rules.rebuilding import shorter


def tighten_window(query: Match) -> Match | None:
    """A window on the whole pattern is the query's window, if that is not narrower.

    >>> from pattern_examples import query
    >>> tightened = tighten_window(query("(SEQ(A a, B b, !C c) WITHIN 5) WITHIN 10"))
    >>> print(tightened.pattern, tightened.within)
    SEQ(A a, B b, !C c) 5 MILLISECONDS

    Proof. The query's window is one on an AND around the pattern, with the same events. Of two windows on
    the same events the narrower one decides: it holds only if the other does, and the scope it leaves is
    inside the other's. So what must be kept of past events is bounded by the narrower one, and every part
    inside is.

    This is the only window that is moved. A part without a window inherits the one around it
    (`effective_windows`); writing it down would say nothing, and `drop_wider_window` would take it away
    again.

    >>> tighten_window(query("SEQ(A a, SEQ(B b, C c) WITHIN 5) WITHIN 10"))
    >>> tighten_window(query("(SEQ(A a, B b) WITHIN 5) WITHIN 10 EVENTS"))
    >>> tighten_window(query("(SEQ(A a, B b) WITHIN 10) WITHIN 5"))
    """
    own = query.pattern.within
    if own is None or (query.within is not None and shorter(own, query.within) is not own):
        return None
    return replace(query, pattern=replace(query.pattern, within=None), within=own)
