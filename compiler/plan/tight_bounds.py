"""The bounds of an item that say something new, given which variables are bound already.

A bound that follows from others is left out: what is after b is after a, if b is after a. The fewer events
a check looks at, the sooner it can be made, and the more rows share its answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from neelc.plan.blocks import Item
from neelc.plan.known import Known, in_bound
from neelc.runtime.program import Bounds, Within


def tight_bounds(item: Item, bound: frozenset[str], known: Known) -> Bounds:
    """The bounds of an item in terms of the variables in `bound`; those of other branches have no event."""
    if item.when:
        bound &= known.together(item.when)
    after, before = in_bound(item.after, bound), in_bound(item.before, bound)
    within = (_tight_window(window, item, after, before, bound, known) for window in item.within)
    sure = known.sure(item.when)
    between = tuple(dict.fromkeys(item.between))
    return Bounds(
        _latest(after, [name for name in reversed(after) if name in sure], known),
        _earliest(before, [name for name in before if name in sure], known),
        tuple(dict.fromkeys(window for window in within if window is not None)),
        between,
    )


def _latest(names: Iterable[str], others: Iterable[str], known: Known) -> tuple[str, ...]:
    """The names that lie before none of the others."""
    return tuple(name for name in names if known.later[name].isdisjoint(others))


def _earliest(names: Iterable[str], others: Iterable[str], known: Known) -> tuple[str, ...]:
    """The names that lie after none of the others."""
    return tuple(name for name in names if known.earlier[name].isdisjoint(others))


def _tight_window(
    window: Within,
    item: Item,
    after: tuple[str, ...],
    before: tuple[str, ...],
    bound: frozenset[str],
    known: Known,
) -> Within | None:
    """The window in terms of what is bound; None if it says nothing.

    For an event after all of `events` only their earliest start matters, for one before all of them the
    latest end. An event strictly between two events of the window lies in what the window leaves around
    them."""
    events = in_bound(window.events, bound)
    earlier, later, surely = frozenset(after), frozenset(before), known.sure(item.when)
    sure = [name for name in events if name in surely]
    if not window.member and not earlier.isdisjoint(sure) and not later.isdisjoint(sure):
        return None
    first = _earliest((name for name in events if name in earlier), sure, known)
    last = _latest((name for name in events if name in later), sure[::-1], known)
    needless = earlier.difference(first) | later.difference(last)
    needed = tuple(name for name in events if name not in needless)
    measured = window.counted or known.lasting
    if not needed and not (window.member and measured):
        return None
    return replace(window, events=needed, member=window.member and measured)
