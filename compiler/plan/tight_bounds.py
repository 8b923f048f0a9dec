"""The bounds of an item that say something new, given which variables are bound already.

A bound that follows from others is left out: what is after b is after a, if b is after a. The fewer events
a check looks at, the sooner it can be made, and the more rows share its answer."""

from __future__ import annotations

from dataclasses import replace

from neelc.plan.blocks import Item
from neelc.plan.known import Known, in_bound
from neelc.runtime.program import Bounds, Within


def tight_bounds(item: Item, bound: frozenset[str], known: Known) -> Bounds:
    """The bounds of an item in terms of the variables in `bound`; those of other branches have no event."""
    bound = frozenset(name for name in bound if known.can_be_together(name, item.when))
    after, before = in_bound(item.after, bound), in_bound(item.before, bound)
    within = (_tight_window(window, item, after, before, bound, known) for window in item.within)
    between = tuple(dict.fromkeys(item.between))
    return Bounds(
        tuple(name for name in after if not _follows(name, after, item, known, later=True)),
        tuple(name for name in before if not _follows(name, before, item, known, later=False)),
        tuple(dict.fromkeys(window for window in within if window is not None)),
        between,
    )


def _follows(name: str, names: tuple[str, ...], item: Item, known: Known, later: bool) -> bool:
    """Whether another of the names, surely bound, lies between the item and this one."""
    return any(
        known.is_sure(other, item.when)
        and (known.is_after(other, name) if later else known.is_after(name, other))
        for other in names
        if other != name
    )


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
    sure = [name for name in events if known.is_sure(name, item.when)]
    if not window.member and any(name in after for name in sure) and any(name in before for name in sure):
        return None
    needed = tuple(
        name
        for name in events
        if not (name in after and any(known.is_after(name, other) for other in sure if other != name))
        and not (name in before and any(known.is_after(other, name) for other in sure if other != name))
    )
    measured = window.counted or known.lasting
    if not needed and not (window.member and measured):
        return None
    return replace(window, events=needed, member=window.member and measured)
