"""Negations, and what EXISTS looks for, in the iterations of a closure: now, or when its list is complete.

A check in an iteration looks from the iteration before up to the one after, and at the ends of the list as
far as the scope of the closure and the windows around it reach. All that is known only of a list that is
complete. A check between events of the same iteration knows all it needs, and drops lists before they grow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from neelc.plan.blocks import Block, Item, implies
from neelc.plan.iteration_marks import marks_of, own_choices
from neelc.plan.list_names import AFTER, BEFORE, FIRST, LAST, element
from neelc.plan.order import Order
from neelc.plan.picks import with_picks
from neelc.plan.steps import Absent, EachElement, Present, Step
from neelc.runtime.program import Within


def is_settled(check: Block, closure: Item, order: Order, around: frozenset[str]) -> bool:
    """Whether a check of an iteration can be made in it: all it looks for lies between events that are there,
    and can be no event of a list that is put together later."""
    assert closure.loop is not None
    body = closure.loop.body
    inside = {one.variable for one in body.items if one.loop is None and implies(check.when, one.when)}
    before = inside | {name for name in around if order.known.is_sure(name, check.when)}
    waiting = [
        one.variable for one in order.block.items if one.loop and one not in order.taken and one != closure
    ]
    for item in check.all_items():
        is_between = item.between or (inside & set(item.before) and before & set(item.after))
        if not is_between or any(_can_be_in(item, name, order) for name in waiting):
            return False
    return True


def _can_be_in(item: Item, name: str, order: Order) -> bool:
    apart = name in item.after or name in item.before
    return not apart and order.known.can_be_one_event(item, name)


def late_check(check: Block, closure: Item, order: Order, find: Callable[[Order], list[Step]]) -> EachElement:
    """The step that makes a check for each iteration of a list that is complete."""
    assert closure.loop is not None
    whens = (check.when, *(one.when for inner in check.all_blocks() for one in inner.items))
    marks = marks_of(closure, iter(whens))
    own = own_choices(closure, check.when)
    names = (element(closure.variable, place) for place in (BEFORE, AFTER))
    around = order.around | order.own | {*closure.loop.names, *names}
    iterating = order.iterating | {closure.variable}
    made = _of_complete_list(check, closure)
    pairs = zip(check.all_items(), made.all_items(), strict=True)
    of = {**order.roles.of, **{new: order.roles.of[old] for old, new in pairs if old.loop is None}}
    roles = replace(order.roles, of=of)
    inner = Order(made, order.known, roles, around, order.chosen, iterating=iterating)
    steps = tuple(
        replace(step, when=tuple(choice for choice in step.when if choice not in check.when))
        for step in with_picks(find(inner))
    )
    kind = Present if check.wanted else Absent
    made_check = kind(steps, own, check.part)
    return EachElement(closure.variable, closure.loop.names, (made_check,), 0, closure.when, marks)


def _of_complete_list(block: Block, closure: Item) -> Block:
    """The block of a check with the bounds that are known when the list is complete."""
    items = []
    for item in block.items:
        if item.loop is not None:
            item = replace(item, loop=replace(item.loop, body=_of_complete_list(item.loop.body, closure)))
        items.append(_bounded(item, closure))
    checks = [_of_complete_list(check, closure) for check in block.checks]
    return replace(block, items=items, checks=checks)


def _bounded(item: Item, closure: Item) -> Item:
    """While a list grows, its last element is the one before, and of a window around it the first element
    and the iteration are known."""
    variable = closure.variable
    previous, following = element(variable, BEFORE), element(variable, AFTER)
    after = tuple(previous if name == element(variable, LAST) else name for name in item.after)
    within = tuple(_around_all(window, closure) for window in item.within)
    return replace(item, after=after, before=(*item.before, following), within=within)


def _around_all(window: Within, closure: Item) -> Within:
    variable = closure.variable
    names: Sequence[str] = () if closure.loop is None else closure.loop.names
    if element(variable, FIRST) not in window.events:
        return window
    others = (name for name in window.events if name not in (element(variable, FIRST), *names))
    return replace(window, events=(*others, variable))
