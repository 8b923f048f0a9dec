"""Blocks as steps: variables in an order, each condition and each check as soon as it can be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from neelc.plan.agreements import agreements
from neelc.plan.blocks import Block, Item
from neelc.plan.event_roles import EventRoles
from neelc.plan.feasible import feasible
from neelc.plan.known import Known
from neelc.plan.late_checks import late_check
from neelc.plan.list_names import FIRST, element
from neelc.plan.order import Order, bounds_of, choose, conditions_at, differs_of, judge, share
from neelc.plan.picks import with_picks
from neelc.plan.repeat_steps import repeat_step, under
from neelc.plan.steps import Absent, AnyBound, Present, Step, Take


def blocks_to_steps(
    block: Block,
    known: Known,
    roles: EventRoles,
    shares: bool = True,
    postpones: bool = True,
    around: frozenset[str] = frozenset(),
) -> tuple[Step, ...]:
    """The steps that find all matches. Unless it `shares`, events are taken in the order of the text; unless
    it `postpones`, so are lists, and nothing is dropped early: a list is put together for every start. What
    is `around` is bound already."""
    return tuple(_steps(Order(block, known, roles, around, shares=shares, postpones=postpones)))


def _steps(order: Order) -> list[Step]:
    block = order.block
    order.checks = [(check, _check(order, check)) for check in block.checks]
    judge(order)
    for place, item in enumerate(_in_order(block.items, order.postpones)):
        if item in order.taken:
            continue  # shared, and taken before the choice
        if block.wanted is None and order.shares:
            share(order, item.when)
        if item not in order.taken:
            choose(order, item.when)
            is_list = item.loop is not None
            order.steps.append(repeat_step(order, item, _steps) if is_list else _take(order, item))
            order.take(item)
        judge(order)
        if place == 0 and block.wanted is None and order.postpones:
            order.steps += feasible(order.bound(()), block.items, order.roles, order.known)
    for choice in block.choices:
        choose(order, (*choice.when, (choice.mark, 0)))
    judge(order)
    order.steps += [AnyBound(_events(order, some.variables), some.when) for some in block.bound]
    return order.steps


def _events(order: Order, variables: tuple[str, ...]) -> tuple[str, ...]:
    """An event for each variable; a list that is not empty has a first one."""
    return tuple(element(name, FIRST) if order.known.is_list(name) else name for name in variables)


def _in_order(items: list[Item], postpones: bool) -> list[Item]:
    """The order of the text, but what must lie around other events comes after them: they do not know of
    it. Lists come last (SASE++'s postponing): none is put together for a match that cannot be completed."""
    left = Counter(item.variable for item in items)
    waits_for = [{name for name in _looked_at(item) if name in left} for item in items]
    waiting: dict[str, list[int]] = {}
    for place, names in enumerate(waits_for):
        for name in names:
            waiting.setdefault(name, []).append(place)
    free = [_rank(items, place, postpones) for place, names in enumerate(waits_for) if not names]
    heapify(free)
    ordered = list[Item]()
    while free:
        item = items[heappop(free)[1]]
        ordered.append(item)
        left[item.variable] -= 1
        for place in waiting.get(item.variable, ()) if not left[item.variable] else ():
            waits_for[place].remove(item.variable)
            if not waits_for[place]:
                heappush(free, _rank(items, place, postpones))
    assert len(ordered) == len(items), "windows are nested, so there is an order"
    return ordered


def _rank(items: list[Item], place: int, postpones: bool) -> tuple[bool, int]:
    return postpones and items[place].loop is not None, place


def _looked_at(item: Item) -> Iterator[str]:
    for window in item.within:
        if not window.member:
            yield from window.events


def _take(order: Order, item: Item) -> Take:
    """The step that binds an item, with all conditions that can be judged then and concern it."""
    bound = order.bound(item.when) - {item.variable}
    differs = differs_of(order, item, bound)
    where = [*agreements(item, bound, order.known), *conditions_at(order, item)]
    bounds = bounds_of(order, item, bound)
    return Take(item.variable, order.roles.of[item], bounds, differs, tuple(where), when=item.when)


def _check(order: Order, check: Block) -> Step:
    if check.each is None:
        return check_step(order, check)
    return late_check(check, order.known.closure(check.each), order, _steps)


def check_step(order: Order, check: Block) -> Absent | Present:
    """The step of a check, as if all variables around it were bound."""
    around = order.around | order.own
    inner = Order(check, order.known, order.roles, around, order.chosen, iterating=order.iterating)
    steps = tuple(under(step, check.when) for step in with_picks(_steps(inner)))
    kind = Present if check.wanted else Absent
    return kind(steps, check.when, check.part)
