"""A step that drops rows early for which some event that is still needed cannot be there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neelc.plan.blocks import Item
from neelc.plan.event_roles import EventRoles
from neelc.plan.known import Known, in_bound
from neelc.plan.picks import with_picks
from neelc.plan.steps import Present, Step, Take
from neelc.plan.tight_bounds import tight_bounds


def feasible(first: frozenset[str], items: Sequence[Item], roles: EventRoles, known: Known) -> list[Step]:
    """The rest of the pattern, when the first event is taken, with each event as near as possible and
    conditions left out: so no match is lost."""
    rest = [item for item in items[1:] if not item.when and _is_needed(item)]
    if len(rest) < 2 or items[0].when or items[0].loop:
        return []
    bound, steps = first, list[Step]()
    for item in rest:
        bounds = tight_bounds(item, bound, known)
        windows = (
            replace(window, events=in_bound(window.events, first), member=False) for window in bounds.within
        )
        within = tuple(window for window in windows if window.events)
        steps.append(Take(item.variable, roles.of[_event_of(item)], replace(bounds, within=within)))
        bound |= {item.variable}
    return [Present(with_picks(steps))]


def _is_needed(item: Item) -> bool:
    """Whether an event must be there; for a list, one that can be any of its elements."""
    return item.loop is None or (item.loop.least > 0 and len(item.loop.body.items) == 1)


def _event_of(item: Item) -> Item:
    return item if item.loop is None else item.loop.body.items[0]
