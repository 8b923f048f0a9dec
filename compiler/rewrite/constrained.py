"""A part with more asked of it: conditions and windows of a list that is about to vanish."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.conjuncts import conjoin
from neelc.ir.expr import Expr, Literal
from neelc.ir.pattern import Not, Optional, Pattern, Window
from neelc.ir.units import LENGTHS


def constrained(part: Pattern, where: Expr | None, within: Window | None = None) -> Pattern | None:
    """What `AND(part WHERE where) WITHIN within` means, without the AND; None when there is no other way.

    >>> from neelc.rewrite.examples import query
    >>> outer = query("AND(SEQ(A a, B b) WITHIN 5 WHERE a.x > 1)").pattern
    >>> print(constrained(query("SEQ(A a, B b WHERE a.x > b.x) WITHIN 5").pattern, outer.where))
    SEQ(A a, B b WHERE a.x > b.x AND a.x > 1)

    A condition on an optional part is not judged when the part is absent; one around it is.

    >>> constrained(query("A? a").pattern, outer.where)

    Of two windows over the same events the shorter one counts. A window of time and one of events are two
    things, and a part has room for one.
    """
    if where is None and within is None:
        return part
    if isinstance(part, Optional | Not):
        return None
    window = shorter(part.within, within) if part.within and within else part.within or within
    if window is None and (part.within or within):
        return None
    return replace(part, where=conjoin([part.where, where]), within=window)


def shorter(left: Window, right: Window) -> Window | None:
    """The window that allows less; None when that depends on the events.

    >>> from neelc.ir.types import INT
    >>> minute, second = (Window(Literal(1, INT), unit) for unit in ("MINUTE", "SECOND"))
    >>> print(shorter(minute, second))
    1 SECOND
    >>> print(shorter(minute, Window(Literal(3, INT), "EVENT")))
    None
    """
    if (left.unit == "EVENT") != (right.unit == "EVENT"):
        return None
    return min(left, right, key=_length)


def _length(window: Window) -> int:
    """How much a bound window allows, comparable among windows of one kind."""
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), "a bound window"
    return window.count.value * LENGTHS.get(window.unit or "", 1)
