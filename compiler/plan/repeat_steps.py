"""A closure as a step: what is judged while its list grows, and what waits until the list is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from neelc.ir.expr import Each, Expr, Variable
from neelc.ir.node import walk
from neelc.plan.blocks import Block, Condition, Item
from neelc.plan.consistency import Kind, consistency
from neelc.plan.event_roles import renamed
from neelc.plan.late_checks import is_settled, late_check
from neelc.plan.list_names import (
    BEFORE,
    CURRENT,
    FIRST,
    element,
    is_of_iteration,
    list_of,
    looks_back,
    place_of,
    ranges,
    without_names,
)
from neelc.plan.order import Order, open_conditions
from neelc.plan.steps import Repeat, Step
from neelc.runtime.program import When


def repeat_step(order: Order, item: Item, find: Callable[[Order], list[Step]]) -> Repeat:
    """The step that binds a list; `find` finds an iteration. The first iteration is its own `b[1]`, and
    conditions that look back hold for it by definition."""
    loop = item.loop
    assert loop is not None, "a closure"
    around = (order.bound(item.when) - {item.variable}) | {*item.earlier}
    now = [one for one in loop.body.conditions if _is_early(one, item, loop.body, around)]
    order.late += [one for one in loop.body.conditions if one not in now]
    late = [check for check in loop.body.checks if not is_settled(check, item, order, around)]
    order.checks += [(check, late_check(check, item, order, find)) for check in late]
    following = [one for one in now if not _is_of_first(one, item.variable)]
    first = [_of_first(one, item.variable) for one in now if not looks_back(one.expression)]

    def steps(conditions: list[Condition]) -> tuple[Step, ...]:
        checks = [check for check in loop.body.checks if check not in late]
        body = replace(loop.body, conditions=conditions, checks=checks)
        iterating = order.iterating | {item.variable}
        iteration = Order(body, order.known, order.roles, around, order.chosen, iterating=iterating)
        return tuple(under(step, item.when) for step in find(iteration))

    bodies = steps(first), steps(following)
    early = tuple(_early(order, item)) if {*first} <= {*following} and len(loop.names) == 1 else ()
    return Repeat(
        item.variable, loop.names, *bodies, loop.least, loop.most, early, item.when, places=loop.places
    )


def under(step: Step, when: When) -> Step:
    """The step for rows that all have made these choices."""
    return replace(step, when=tuple(choice for choice in step.when if choice not in when))


def _is_early(condition: Condition, item: Item, body: Block, around: frozenset[str]) -> bool:
    """Whether a condition can be judged in an iteration. Which element is the last one, and what the whole
    list is, is not known then; nor are lists that are put together later."""
    variable = item.variable
    if any(node == Each(Variable(variable)) for node in walk(condition.expression)):
        return False
    known = around | {name for one in body.items for name in one.names}
    for name in condition.names - {variable}:
        found = list_of(name)
        if found == variable:
            if place_of(name) not in (CURRENT, BEFORE, FIRST):
                return False
        elif name not in known and not (is_of_iteration(name) and found in known):
            return False
    return True


def _early(order: Order, item: Item) -> Iterator[Expr]:
    """Conditions on the list that are false-value consistent (SASE++ 5.2)."""
    bound = order.bound(item.when) | {item.variable}
    for condition in open_conditions(order):
        fits = item.variable in condition.names <= bound and set(condition.when) == set(item.when)
        kind = consistency(without_names(condition.expression)).kind if fits else None
        if kind in (Kind.FALSE, Kind.BOTH):
            yield condition.expression


def _is_of_first(condition: Condition, variable: str) -> bool:
    """Whether a condition names the first element, and no other one by one."""
    first = any(name.startswith(element(variable, FIRST)) for name in condition.names)
    return first and variable not in ranges(condition.expression)


def _of_first(condition: Condition, variable: str) -> Condition:
    """A condition as it is for the first iteration."""
    begins = {name for name in condition.names if name.startswith(element(variable, FIRST))}
    expression = condition.expression
    for name in begins:
        own = element(variable, CURRENT) + name.removeprefix(element(variable, FIRST))
        expression = renamed(expression, name, own)
    return replace(condition, expression=expression) if begins else condition
