"""The rule `drop_wider_window`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.node import Node, map_children
from neelc.ir.patterns import declared, targets
from neelc.ir.program import Match
from neelc.pattern.rules.rebuilding import shorter
from neelc.runtime.late_dataclass import dataclass


def drop_wider_window(query: Match) -> Match | None:
    """A window on a part says nothing if a window around it is not wider.

    >>> from pattern_examples import query
    >>> print(drop_wider_window(query("SEQ(A a, SEQ(B b, !C c) WITHIN 9, D d) WITHIN 9")).pattern)
    SEQ(A a, SEQ(B b, !C c), D d)

    Proof. Let a window of length w around hold for events from s to e, and a part of these have a window
    of v >= w. The part's events lie in [s, e], so they are not further apart than w. The part's scope is
    cut to [e' - v, s' + v] around its own events, from s' to e'; but it lies in the scope around, which
    is cut to [e - w, s + w], and as s <= s' and e' <= e that is inside the other. So negations in the
    part look no further than before. Windows of events go the same way, with the number of events for the
    length.

    Two windows of different kinds cannot be compared. The events of a negation are none of the match, and
    events that EXISTS drops do not count in the window around it: only their scope is cut, in which two
    events can be 2 * w apart.

    >>> drop_wider_window(query("SEQ(A a, SEQ(B b, C c) WITHIN 9) WITHIN 3 EVENTS"))
    >>> drop_wider_window(query("AND(A a, !(SEQ(B b, C c) WITHIN 9)) WITHIN 9"))
    >>> drop_wider_window(query("AND(A a, EXISTS b : (SEQ(B b, C c) WITHIN 9)) WITHIN 9"))

    Inside one negation, or with what the window is about in the match, they count.

    >>> print(drop_wider_window(query("EXISTS b : AND(B b, SEQ(C c, D d) WITHIN 9) WITHIN 9")).pattern)
    EXISTS b : AND(B b, SEQ(C c, D d))
    """
    around = () if query.within is None else (OuterWindow(query.within),)
    pattern = _narrowed(query.pattern, around)
    return None if pattern is query.pattern else replace(query, pattern=pattern)


@dataclass(frozen=True)
class OuterWindow:
    """A window around a part; variables in `hidden` do not count in it."""

    window: p.Window
    hidden: frozenset[str] = frozenset()

    def bounds(self, part: p.Pattern) -> bool:
        """Whether it makes the window of the part needless."""
        assert part.within is not None
        is_enough = shorter(self.window, part.within) is self.window
        return is_enough and not self.hidden.intersection(targets(part))


def _narrowed(part: p.Pattern, around: tuple[OuterWindow, ...]) -> p.Pattern:
    own = part.within
    if own is not None and any(window.bounds(part) for window in around):
        part = replace(part, within=None)
    elif own is not None:
        around = (*around, OuterWindow(own))
    match part:
        case p.Not() | p.ClosureGap():
            around = ()
        case p.Exists(variables):
            around = _hiding(around, variables)
        case p.Repeat(inner, variable=variable):
            around = tuple(_in_closure(window, variable, inner) for window in around)

    def change(child: Node) -> Node:
        return _narrowed(child, around) if isinstance(child, p.Pattern) else child

    return map_children(part, change)


def _hiding(around: tuple[OuterWindow, ...], names: Iterable[str]) -> tuple[OuterWindow, ...]:
    return tuple(replace(window, hidden=window.hidden.union(names)) for window in around)


def _in_closure(window: OuterWindow, variable: str | None, inner: p.Pattern) -> OuterWindow:
    """Where a list is hidden, so are the events of its iterations."""
    return replace(window, hidden=window.hidden | declared(inner)) if variable in window.hidden else window
